import { createHmac } from 'node:crypto';
import { messageOf } from '../../core/error-message.ts';
import { timestamp } from './records.ts';
import type { Tracker } from './state.ts';
import type { Delivery, StoredWebhook } from './row.ts';

/** Deliveries that are remembered. */
const KEPT = 1000;

type Outcome = { readonly isTaken: boolean; readonly answer: string };

const send = async ({ env }: Tracker, hook: StoredWebhook, body: string): Promise<Outcome> => {
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'opsctl-mock',
  };
  // spec/tracker#webhooks: lower-case hexadecimal HMAC-SHA-256 of the exact bytes; absent without a secret.
  if (hook.secret !== null)
    headers['payload-signature'] = createHmac('sha256', hook.secret).update(body).digest('hex');
  try {
    const reply = await env.host.network.request({
      method: 'POST',
      url: hook.webhook_url,
      headers,
      body,
      timeoutMs: 5000,
      connectTimeoutMs: 2000,
    });
    await reply.bytes();
    const isTaken = reply.status >= 200 && reply.status < 300;
    return { isTaken, answer: String(reply.status) };
  } catch (error) {
    return { isTaken: false, answer: messageOf(error) };
  }
};

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 250;
/**
 * The same bytes again, each time after twice the wait; given up after the last attempt, when the webhook is gone, or
 * when the server stops and this receiver did not take the last delivery.
 */
const deliver = async (state: Tracker, delivery: Delivery): Promise<void> => {
  const { host, stopping } = state.env;
  const id = delivery.webhook_id;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const hook = state.webhooks.get(id);
    if (hook === undefined || (stopping?.aborted && state.failing.has(id))) break;
    const { isTaken, answer } = await send(state, hook, delivery.body);
    delivery.attempts += 1;
    delivery.answer = answer;
    if (isTaken) {
      delivery.status = 'delivered';
      state.failing.delete(id);
      return;
    }
    state.failing.add(id);
    if (attempt < ATTEMPTS - 1) await host.sleep(FIRST_WAIT_MS * 2 ** attempt, stopping).catch(() => {});
  }
  delivery.status = 'failed';
};

/** Puts a delivery behind those of the same webhook, so that events arrive in order. */
const enqueue = (
  state: Tracker,
  hook: StoredWebhook,
  made: Pick<Delivery, 'event' | 'body' | 'resend_of'>,
): Delivery => {
  state.sent.count += 1;
  const delivery: Delivery = {
    number: state.sent.count,
    webhook_id: hook.id,
    url: hook.webhook_url,
    at: timestamp(state.env.now()),
    status: 'pending',
    attempts: 0,
    ...made,
  };
  state.sent.list.push(delivery);
  if (state.sent.list.length > KEPT) state.sent.list.shift();
  const before = state.deliveries.get(hook.id) ?? Promise.resolve();
  const sent = before.then(() => deliver(state, delivery));
  state.deliveries.set(hook.id, sent);
  state.env.later(() => sent);
  return delivery;
};

/** spec/tracker#webhooks-2: every webhook gets the event, signed with its own secret. */
export const deliverToAll = (state: Tracker, event: object, name: string): Delivery[] =>
  [...state.webhooks.values()].map((hook) =>
    enqueue(state, hook, { event: name, body: JSON.stringify({ ...event, webhook_id: hook.id }) }),
  );

/** The same bytes again, as a service does that a receiver asks for them; undefined when nobody can get them. */
export const deliverAgain = (state: Tracker, number: number): Delivery | undefined => {
  const delivery = state.sent.list.find((one) => one.number === number);
  const hook = delivery && state.webhooks.get(delivery.webhook_id);
  return hook && delivery
    ? enqueue(state, hook, { event: delivery.event, body: delivery.body, resend_of: number })
    : undefined;
};

import { messageOf } from '../core/error-message.ts';
import { resolve } from 'node:path';
import { invalidArguments, problem } from '../core/problem.ts';
import { refuseLongSecret } from '../core/secret-size.ts';
import type { Incoming, Outgoing } from '../platform/host.ts';
import type { Context } from '../cli/command.ts';
import { MAX_BODY_BYTES, readEvent } from './webhook-event.ts';

const json = { 'content-type': 'application/json' };

/** The secret of the webhook: from the file that is named, else from the environment. */
export const secretOf = async (context: Context, given: string | undefined): Promise<string | undefined> => {
  if (given === undefined) {
    const secret = context.host.env.OPSCTL_WEBHOOK_SECRET || undefined;
    if (secret === undefined) return undefined;
    refuseLongSecret('config', 'OPSCTL_WEBHOOK_SECRET', secret);
    context.log.hide(secret);
    return secret;
  }
  const text = await context.host.files.read(resolve(context.host.cwd, given));
  const secret = text?.replace(/\r?\n$/, '');
  if (!secret)
    throw invalidArguments([
      problem('--secret-file', 'rule', text === undefined ? `${given} does not exist` : `${given} is empty`),
    ]);
  refuseLongSecret('usage', '--secret-file', secret);
  context.log.hide(secret);
  return secret;
};

/** Passes a delivery on as it came: same bytes, same signature. Its answer becomes ours, so that the sender repeats what failed. */
const forward = async (
  context: Context,
  to: string,
  body: Uint8Array,
  header: string | undefined,
): Promise<number> => {
  const headers = {
    'content-type': 'application/json',
    ...(header === undefined ? {} : { 'payload-signature': header }),
  };
  const reply = await context.host.network.request({
    method: 'POST',
    url: to,
    headers,
    body,
    timeoutMs: 10_000,
  });
  await reply.bytes();
  return reply.status;
};

export const receiver =
  (context: Context, secret: string | undefined, to: string | undefined, accept: (event: unknown) => void) =>
  async (request: Incoming): Promise<Outgoing> => {
    if (request.method !== 'POST')
      return { status: 405, headers: { ...json, allow: 'POST' }, body: '{"error":"method_not_allowed"}' };
    const header = request.headers['payload-signature'];
    const body = await request.read(MAX_BODY_BYTES + 1).catch(() => new Uint8Array(MAX_BODY_BYTES + 1));
    const read = readEvent(body, header, secret);
    if (!('event' in read)) {
      context.log.warn(`refused a delivery from ${request.remoteAddress}: ${read.message}`);
      return {
        status: read.status,
        headers: json,
        body: JSON.stringify({ error: read.code, message: read.message }),
      };
    }
    try {
      const status = to === undefined ? 200 : await forward(context, to, body, header);
      if (status < 400) accept(read.event);
      else context.log.warn(`${to} answered ${status}; the sender will try again`);
      return { status, headers: json, body: '{}' };
    } catch (error) {
      context.log.warn(`${to} could not be reached: ${messageOf(error)}`);
      return { status: 502, headers: json, body: '{"error":"forward_failed"}' };
    }
  };

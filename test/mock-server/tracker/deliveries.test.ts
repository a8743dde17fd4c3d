/** The deliveries of an event to its webhook, in order: one attempt, a pause, and the next attempt. */
import { describe, expect, it } from 'vitest';
import { defaultOptions, makeEnvironment, type MockReply } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { makeTracker } from '../../../src/mock-server/tracker/service.ts';
import { NetworkError } from '../../../src/platform/host.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { pause } from '../../support/slow-host.ts';

const scene = (answers: readonly (number | Error)[], sleepTurns = 0) => {
  const steps: string[] = [];
  let sent = 0;
  const base = fakeHost({
    reply: async ({ url, body, timeoutMs, connectTimeoutMs }) => {
      const answer = answers[sent] ?? 200;
      sent += 1;
      steps.push(
        `send ${new URL(url).pathname} ${JSON.parse(String(body)).actions[0].name} ${timeoutMs} ${connectTimeoutMs}`,
      );
      if (answer instanceof Error) throw answer;
      return { status: answer };
    },
  });
  const host = {
    ...base,
    sleep: async (ms: number, signal?: AbortSignal) => {
      steps.push(`sleep ${ms}`);
      await pause(sleepTurns);
      await base.sleep(ms, signal);
      steps.push(`slept ${ms}`);
    },
  };
  const { env, listensAt, settle } = makeEnvironment(
    host,
    new Store(),
    { ...defaultOptions, trackerToken: 't' },
    'seed',
  );
  listensAt('http://127.0.0.1:1');
  const service = makeTracker(env);
  env.store.transact(() => service.seed('empty'));
  const ask = (method: string, path: string, body?: unknown) => {
    const reply = service.handle({
      ...{ method, path: `/api/v3${path}`, query: '', remoteAddress: '127.0.0.1', isTls: false },
      headers: { 'tracker-token': 't', 'content-type': 'application/json' },
      body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    }) as MockReply;
    return reply.body === undefined ? undefined : JSON.parse(String(reply.body));
  };
  type Sent = { readonly status: string; readonly attempts: number; readonly answer: string };
  const deliveries = (): readonly Sent[] => {
    const said = service.control?.('webhooks/deliveries', undefined);
    return said !== undefined && 'value' in said ? (said.value as Sent[]) : [];
  };
  return { steps, ask, deliveries, settle };
};
const send = 'send /in one 5000 2000';

describe('deliveries to a webhook', () => {
  it('each attempt follows a complete pause that is twice as long as the one before, and five attempts are the last', async () => {
    const { steps, ask, deliveries } = scene([500, 500, 500, 500, 500], 10);
    ask('POST', '/integrations/webhook', { webhook_url: 'http://hook.example/in' });
    ask('POST', '/stories', { name: 'one' });
    await expect.poll(() => deliveries()[0]?.status).toBe('failed');
    expect(steps).toEqual([
      send,
      ...[250, 500, 1000, 2000].flatMap((ms) => [`sleep ${ms}`, `slept ${ms}`, send]),
    ]);
    expect(deliveries()).toMatchObject([{ attempts: 5, answer: '500' }]);
  });
  it('a failure of the network is noted for its attempt, and a later success ends the attempts', async () => {
    const refused = new NetworkError('REFUSED', 'nobody listens', false);
    const { steps, ask, deliveries } = scene([refused, 204]);
    ask('POST', '/integrations/webhook', { webhook_url: 'http://hook.example/in' });
    ask('POST', '/stories', { name: 'one' });
    await expect.poll(() => deliveries()[0]?.status).toBe('delivered');
    expect(steps).toEqual([send, 'sleep 250', 'slept 250', send]);
    expect(deliveries()).toMatchObject([{ attempts: 2, answer: '204' }]);
  });
  it('the events of one webhook are sent in order', async () => {
    const { steps, ask, deliveries } = scene([500]);
    ask('POST', '/integrations/webhook', { webhook_url: 'http://hook.example/in' });
    for (const name of ['one', 'two']) ask('POST', '/stories', { name });
    await expect.poll(() => deliveries().map(({ status }) => status)).toEqual(['delivered', 'delivered']);
    expect(steps).toEqual([send, 'sleep 250', 'slept 250', send, send.replace('one', 'two')]);
  });
  it('a server that stops ends the attempts of a webhook that did not take the last delivery', async () => {
    const { ask, deliveries, settle, steps } = scene([500, 500, 500, 500, 500], 10);
    ask('POST', '/integrations/webhook', { webhook_url: 'http://hook.example/in' });
    ask('POST', '/stories', { name: 'one' });
    await settle();
    expect(deliveries()).toMatchObject([{ status: 'failed', attempts: 1 }]);
    expect(steps).toEqual([send, 'sleep 250']);
  });
});

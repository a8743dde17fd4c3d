import { describe, expect, it } from 'vitest';
import { noticeBody, noticeOf, notifier, type Webhook } from '../../../../src/kv/upgrade/present/notify.ts';
import type { UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';

const at = '2026-01-02T03:04:05.000Z';
const named = { cluster: 'prod', run: 'r1', action: 'upgrade', from: '3.4', to: '3.5' };
const stamped = (event: object): UpgradeEvent => ({ at, elapsed_ms: 0, ...event }) as UpgradeEvent;
const note = (text: string, level = 'warn') => stamped({ event: 'note', level, text });
const hook: Webhook = { url: 'https://hooks.example/T0/secret', shape: 'json' };

describe('the text of a notice', () => {
  it.each([
    [
      { event: 'note', level: 'warn', text: 'careful' },
      { event: 'note', text: 'careful' },
    ],
    [
      { event: 'reverting', member: 'n2', reason: 'panicked' },
      { event: 'reverting', member: 'n2', text: 'n2 is rolled back: panicked' },
    ],
    [
      { event: 'reverted', member: 'n2', duration_ms: 1 },
      { event: 'reverted', member: 'n2', text: 'n2 runs its old version again' },
    ],
    [
      { event: 'step-finished', step: { kind: 'gate', member: 'n2' } },
      { event: 'member-upgraded', member: 'n2', text: naming('n2', 'version') },
    ],
  ])('%j', (event, notice) => {
    expect(noticeOf(named, stamped(event))).toEqual({ ...notice, at, ...named });
  });
  it('a notice omits internal events', () => {
    expect(noticeOf(named, note('by the way', 'info'))).toBeUndefined();
    expect(noticeOf(named, stamped({ event: 'step-started' }))).toBeUndefined();
  });
  it('a notice has no mention, link or channel for Slack, and an outcome only at the end', () => {
    const notice = noticeOf(named, note('<!here> & <http://x|y>'));
    expect(JSON.parse(noticeBody(notice as never, 'slack'))).toEqual({
      text: 'prod 3.4 → 3.5: &lt;!here&gt; &amp; &lt;http://x|y&gt;',
    });
    expect(JSON.parse(noticeBody(notice as never, 'json'))).toEqual(notice);
  });
});

/** Sends `count` notifications and returns their results. `reply` provides the response of each request. */
const sent = async (count: number, reply: (n: number) => number | Error, more: Partial<Webhook> = {}) => {
  const warned: string[] = [];
  let asked = 0;
  const host = fakeHost({
    reply: () => {
      asked += 1;
      const answer = reply(asked);
      if (answer instanceof Error) throw answer;
      return { status: answer };
    },
  });
  // These sleeps never end, so the time limit at the end of a run is never reached.
  const slept: number[] = [];
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((_, reject) => {
      slept.push(ms);
      signal?.addEventListener('abort', () => reject(new Error('ended')));
    });
  const patient = { ...host, sleep };
  const { take, finish } = notifier(patient, { ...hook, ...more }, named, (text) => warned.push(text));
  for (let n = 1; n <= count; n += 1) take(note(`note ${n}`));
  take(note('nobody hears this', 'info'));
  await finish();
  const texts = host.requests.map(({ body }) => JSON.parse(String(body)).text as string);
  return { host, slept, warned, texts };
};

describe('a notifier', () => {
  it('sends one notice after the other, in their order, as JSON, within five seconds', async () => {
    const { host, slept, warned, texts } = await sent(3, () => 204);
    expect([texts, warned]).toEqual([['note 1', 'note 2', 'note 3'], []]);
    expect(host.requests[0]).toMatchObject({
      ...{ method: 'POST', url: hook.url, timeoutMs: 5000, connectTimeoutMs: 5000, maxReplyBytes: 65_536 },
      headers: { 'content-type': 'application/json' },
    });
    expect(slept).toEqual([15_000]);
  });
  it('tries each one twice, and goes on with the next', async () => {
    const late = await sent(2, (n) => (n === 1 ? 503 : 200));
    expect([late.texts, late.warned]).toEqual([['note 1', 'note 1', 'note 2'], []]);
    const never = await sent(2, () => 300);
    expect(never.texts).toEqual(['note 1', 'note 1', 'note 2', 'note 2']);
    expect(never.warned).toEqual([naming('hooks.example', '300', 'notice', 'returned', 'continues')]);
    expect((await sent(1, () => 299)).warned).toEqual([]);
  });
  it('a notifier reports the reason without the secret in the URL', async () => {
    const { warned } = await sent(1, () => new Error(`cannot reach ${hook.url}: refused`));
    expect(warned).toEqual([naming('hooks.example', 'notice', 'refused', 'continues')]);
  });
  it('signs with the secret and the second in which it sends', async () => {
    const { host } = await sent(1, () => 200, { secret: 'very-secret' });
    expect(host.requests[0]?.headers?.['opsctl-signature']).toMatch(/^t=1767323045,v1=[0-9a-f]{64}$/);
    expect((await sent(1, () => 200)).host.requests[0]?.headers).not.toHaveProperty('opsctl-signature');
  });
  it('a busy notifier accepts more after it has sent', async () => {
    const warned: string[] = [];
    const host = fakeHost({ reply: () => ({ status: 200 }) });
    const { take, finish } = notifier(host, hook, named, (text) => warned.push(text));
    for (let n = 0; n < 100; n += 1) take(note('x'));
    await finish();
    for (let n = 0; n < 100; n += 1) take(note('x'));
    expect(warned).toEqual([]);
    take(note('one more'));
    expect(warned).toEqual([naming('hooks.example', 'notice', 'notices', 'waiting')]);
    await finish();
    expect(host.requests).toHaveLength(200);
  });
});

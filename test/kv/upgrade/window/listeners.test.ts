import { describe, expect, it } from 'vitest';
import type { AppError } from '../../../../src/core/problem.ts';
import { probesOf, untilOf } from '../../../../src/kv/upgrade/window/window.ts';
import { withListeners } from '../../../../src/kv/upgrade/present/notify.ts';
import type { UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { planned } from '../../../support/observations.ts';

const problemOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as AppError).detail.problems?.[0];
  }
  return undefined;
};

describe('a window that is given', () => {
  it('ends at a time of day, in the zone of the machine or a named one', () => {
    const host = fakeHost({ env: { TZ: 'Europe/Berlin' } });
    expect(untilOf(host, undefined)).toBeUndefined();
    // The time is 04:04 in Berlin.
    expect((untilOf(host, '05:00')?.atMs ?? 0) - host.now()).toBe((55 * 60 + 55) * 1000);
    expect((untilOf(host, '05:00Z')?.atMs ?? 0) - host.now()).toBe((115 * 60 + 55) * 1000);
    expect(problemOf(() => untilOf(host, 'soon'))).toMatchObject({ path: '--until', rule: 'format' });
  });

  it('pauses for commands and for queries, which need a server', () => {
    expect(probesOf({}, undefined)).toEqual([]);
    const given = { 'pause-while-command': ['c'], 'pause-while-query': ['q'], prometheus: 'http://p' };
    expect(probesOf(given, 't')).toEqual([
      { kind: 'command', command: 'c' },
      { kind: 'query', query: 'q', prometheus: 'http://p', token: 't' },
    ]);
    expect(probesOf(given, '')[1]).toMatchObject({ token: undefined });
    expect(problemOf(() => probesOf({ 'pause-while-query': ['q'] }, undefined))).toMatchObject({
      ...{ path: '--prometheus', rule: 'required' },
    });
    expect(probesOf({ 'pause-while-command': ['c'] }, undefined)).toHaveLength(1);
  });
});

describe('recipients of notifications', () => {
  const plan = planned();
  const events: UpgradeEvent[] = [
    { event: 'run-started', run: 'r', action: 'upgrade', plan, journal: '/j', at: '', elapsed_ms: 0 },
    { event: 'note', level: 'warn', text: 'careful', at: '', elapsed_ms: 0 },
  ];
  const told = async (given: Parameters<typeof withListeners>[1], env: Record<string, string> = {}) => {
    const host = fakeHost({ env, reply: () => ({ status: 200 }) });
    const [hidden, warned, seen] = [[] as string[], [] as string[], [] as string[]];
    const log = { warn: (text: string) => warned.push(text), hide: (secret: string) => hidden.push(secret) };
    const result = await withListeners(
      { host, log },
      given,
      { plan, run: 'r', action: 'upgrade' },
      ({ event }) => seen.push(event),
      async (sink) => {
        for (const event of events) sink(event);
        return 'ended';
      },
    );
    const bodies = host.requests.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
    return { host, hidden, warned, seen, result, bodies };
  };

  it('the operator is the only recipient without a flag', async () => {
    const { host, seen, result } = await told({});
    expect([seen, result, host.requests]).toEqual([['run-started', 'note'], 'ended', []]);
  });

  it('a webhook is a recipient whose URL is not shown', async () => {
    const url = 'https://hooks.example/secret-path?token=abcdefgh';
    const { hidden, seen, bodies, host } = await told({ notify: url });
    expect(seen).toEqual(['run-started', 'note']);
    expect(hidden).toEqual([url, '/secret-path', '?token=abcdefgh']);
    expect(bodies.map(({ event }) => event)).toEqual(['run-started', 'note']);
    expect(bodies[0]).toMatchObject({ cluster: 'test', run: 'r', action: 'upgrade', from: '3.3', to: '3.4' });
    expect(host.requests[0]?.headers).not.toHaveProperty('opsctl-signature');
  });

  it('a Slack webhook is detected by its host or a flag; a secret signs it', async () => {
    const slack = await told({ notify: 'https://hooks.slack.com/services/1234567' });
    expect(Object.keys(slack.bodies[0] ?? {})).toEqual(['text']);
    const named = await told({ notify: 'https://h.example/x', 'notify-format': 'slack' });
    expect(Object.keys(named.bodies[0] ?? {})).toEqual(['text']);
    const env = { OPSCTL_NOTIFY_URL: 'https://h.example/x', OPSCTL_NOTIFY_SECRET: 'very-secret' };
    const signed = await told({}, env);
    expect(signed.hidden).toContain('very-secret');
    expect(signed.hidden).not.toContain('/x');
    expect(signed.host.requests[0]?.headers?.['opsctl-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
  });

  it('a webhook without encryption stops the run before it starts, unless the setting names its host', async () => {
    const url = 'http://192.0.2.2:9911/secret-hook';
    const refusal = (name: string) => ({ category: 'usage', detail: { problems: [{ path: name }] } });
    await expect(told({ notify: url })).rejects.toMatchObject(refusal('--notify'));
    await expect(told({ notify: url })).rejects.toSatisfy(
      (error) => !JSON.stringify([String(error), error]).includes('secret-hook'),
    );
    for (const text of [url, 'ftp://h.example/x', 'nonsense'])
      await expect(told({}, { OPSCTL_NOTIFY_URL: text })).rejects.toMatchObject(refusal('OPSCTL_NOTIFY_URL'));
    const allowed = await told({ notify: url }, { OPSCTL_PLAIN_HTTP_HOSTS: '192.0.2.2' });
    expect(allowed.bodies).toHaveLength(2);
  });

  it('a metrics file is a recipient', async () => {
    const { host } = await told({ 'metrics-file': 'm.prom' });
    expect(await host.files.read('/place/m.prom')).toContain('cluster="test"');
  });
});

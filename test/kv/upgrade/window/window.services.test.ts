import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { beforeMember, beforeReturn } from '../../../../src/kv/upgrade/execute/before-member.ts';
import { historyRow } from '../../../../src/kv/operations/record.ts';
import {
  askImpact,
  impactOf,
  neededMs,
  parseUntil,
  untilText,
  type Window,
} from '../../../../src/kv/upgrade/window/window.ts';
import { memberDurations } from '../../../../src/kv/upgrade/present/journal-events.ts';
import {
  metricsFile,
  metricsText,
  noticeBody,
  noticeOf,
  notifier,
  signature,
} from '../../../../src/kv/upgrade/present/notify.ts';
import type { JournalEntry, JournalStepId, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { nodeHost } from '../../../../src/platform/node/host.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { partlyMade } from '../../../support/context.ts';
import { planned } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { covers } from '../../../support/covers.ts';
import { testInDirectory } from '../../../support/test-in-directory.ts';

const at = (text: string): number => Date.parse(text);
const entry = (kind: 'begin' | 'end', step: JournalStepId, time: string): JournalEntry => ({
  kind,
  step,
  at: `2026-01-02T${time}Z`,
});
const oneMember = [
  partlyMade<JournalEntry>({
    ...{ kind: 'opened', at: new Date(0).toISOString(), run: 'r', action: 'upgrade', plan: planned() },
  }),
  entry('begin', 'n1.snapshot', '03:00:00'),
  entry('end', 'n1.snapshot', '03:00:20'),
  entry('begin', 'n1.stop', '03:00:20'),
  entry('end', 'n1.gate', '03:01:00'),
];

describe('the end of a window', () => {
  const now = at('2026-03-28T23:30:00Z');
  const iso = (text: string, from = now, zone = 'Europe/Berlin'): string => {
    const until = parseUntil(text, from, zone);
    return typeof until === 'string'
      ? until
      : `${new Date(until.atMs).toISOString().slice(0, 16)} ${untilText(until)}`;
  };
  it('the end is the next time the clock of its zone shows it', () => {
    expect(iso('04:00', at('2026-01-10T12:00:00Z'))).toBe('2026-01-11T03:00 04:00 (Europe/Berlin)');
    expect(iso('13:30', at('2026-01-10T12:00:00Z'))).toBe('2026-01-10T12:30 13:30 (Europe/Berlin)');
    expect(iso('04:00Z', at('2026-01-10T12:00:00Z'))).toBe('2026-01-11T04:00 04:00 (UTC)');
    expect(iso('4:00+05:30', at('2026-01-10T12:00:00Z'))).toBe('2026-01-10T22:30 04:00 (+05:30)');
    expect(iso('22:15 America/New_York', at('2026-01-10T12:00:00Z'))).toBe(
      '2026-01-11T03:15 22:15 (America/New_York)',
    );
    expect(iso('2026-02-01T04:00:00+01:00', at('2026-01-10T12:00:00Z'))).toBe('2026-02-01T03:00 03:00 (UTC)');
  });
  it('the end is correct in a night with a clock change', () => {
    // In Berlin, 02:00 becomes 03:00 on 2026-03-29, and 03:00 becomes 02:00 on 2026-10-25.
    expect(iso('04:00')).toBe('2026-03-29T02:00 04:00 (Europe/Berlin)');
    expect(iso('04:00', at('2026-10-24T22:30:00Z'))).toBe('2026-10-25T03:00 04:00 (Europe/Berlin)');
  });
  it('an invalid end is distinguished from a valid one', () => {
    expect(iso('24:00')).toContain('must be HH:MM');
    expect(iso('4')).toContain('must be HH:MM');
    expect(iso('04:00 Mars/Olympus')).toBe('has an unknown time zone: Mars/Olympus');
    expect(iso('2020-01-01T00:00:00Z')).toBe('is in the past');
  });
});

describe('how long the next member needs', () => {
  it('the estimate uses this run, otherwise earlier ones, with a margin', () => {
    expect(memberDurations(oneMember)).toEqual([60_000]);
    expect(neededMs([60_000], [500_000], 9)).toEqual({ ms: 75_000, isLearned: true });
    expect(neededMs([], [40_000, 80_000], 9)).toEqual({ ms: 100_000, isLearned: true });
    expect(neededMs([], [], 9)).toEqual({ ms: 9, isLearned: false });
  });
  it('an interrupted member is not used for the estimate', () => {
    const cut: JournalEntry = {
      kind: 'resumed',
      at: '2026-01-02T03:00:30Z',
      owner: { host: 'h', pid: 1 },
      action: 'upgrade',
    };
    expect(memberDurations(oneMember.toSpliced(4, 0, cut))).toEqual([]);
  });
});

const window = (patch: Partial<Window>): Window => ({
  probes: [],
  pauseAtMostMs: 60_000,
  earlierMs: [60_000],
  ...patch,
});
const end = (text: string) => ({ atMs: at(text), zone: 'Z', text: '04:00Z' });

describe('checks before each member', () => {
  it('there is no question without a window', async () => {
    expect(await beforeMember(runOn(fakeHost()), 'n2', false)).toBeUndefined();
  });
  it('a member that fits into the window starts, and one that could not finish does not', async () => {
    // The time is 03:04:05. Each member took a minute, so the next one needs 75 s with a margin of 25 %.
    expect(
      await beforeMember(
        runOn(fakeHost(), { window: window({ until: end('2026-01-02T03:05:20Z') }) }),
        'n2',
        false,
      ),
    ).toBeUndefined();
    const held = await beforeMember(
      runOn(fakeHost(), { window: window({ until: end('2026-01-02T03:05:19Z') }) }),
      'n2',
      false,
    );
    expect(held).toMatchObject({
      outcome: 'held',
      category: 'stopped',
      heldFor: 'window',
      message:
        'held before n2: the window until 03:05 (UTC) ends in 1 min 14 s, and n2 may need 1 min 15 s (the duration of earlier members plus a quarter); continue with opsctl kv resume --until 04:00Z',
    });
  });
  it('the last member needs the time of its soak too, and an unknown one what its limits allow', async () => {
    const last = runOn(fakeHost(), { window: window({ until: end('2026-01-02T03:05:24Z') }) });
    expect(await beforeMember(last, 'n2', false)).toBeUndefined();
    expect(await beforeMember(last, 'n2', true)).toMatchObject({ heldFor: 'window' });
    const unknown = runOn(fakeHost(), {
      window: window({ until: end('2026-01-02T03:05:24Z'), earlierMs: [] }),
    });
    const { message } = (await beforeMember(unknown, 'n2', false)) as Exclude<
      Awaited<ReturnType<typeof beforeMember>>,
      string | undefined
    >;
    expect(message).toRead('(the sum of its timeouts)');
  });
  it('a pause ends when users are not affected any more, and is in the journal', async () => {
    const answers = [1, 1, 0].map((firing) => ({
      body: {
        status: 'success',
        data: { resultType: 'vector', result: firing ? [{ metric: { alertname: 'SlowWrites' } }] : [] },
      },
    }));
    const host = fakeHost({ reply: () => answers.shift() ?? { status: 500 } });
    const run = runOn(host, {
      window: window({ probes: [{ kind: 'query', query: 'ALERTS', prometheus: 'http://prometheus:9090/' }] }),
    });
    // opsctl observes the cluster again because time has passed.
    expect(await beforeMember(run, 'n2', false)).toBe('look-again');
    expect(run.written).toMatchObject([
      { kind: 'paused', member: 'n2', reason: 'users are affected (a sample: SlowWrites)' },
      { kind: 'continued', member: 'n2', waited_ms: 30_000 },
    ]);
  });
  it('a rollback is held by no window and no pause, only by the operator', async () => {
    const asked: string[] = [];
    const over = { until: end('2026-01-02T03:00:00Z') };
    const busy = { probes: [{ kind: 'command', command: 'exit 0' }] } as const;
    expect(await beforeReturn(runOn(fakeHost(), { window: window({ ...over, ...busy }) }), 'n2')).toBe(
      undefined,
    );
    const confirmEach = async (member: string): Promise<boolean> => asked.push(member) > 1;
    const run = runOn(fakeHost(), { window: window({ ...over, confirmEach }) });
    expect(await beforeReturn(run, 'n2')).toMatchObject({ outcome: 'held', heldFor: 'operator' });
    expect([await beforeReturn(run, 'n2'), await beforeReturn(run, 'n2')]).toEqual(['look-again', undefined]);
    expect(asked).toEqual(['n2', 'n2']);
  });
  it('a pause is bounded: by its own limit and by the window', async () => {
    const broken = { probes: [{ kind: 'query', query: 'x', prometheus: 'http://prometheus:9090' }] } as const;
    const run = runOn(fakeHost({ reply: () => ({ status: 503, body: 'busy' }) }), { window: window(broken) });
    const held = await beforeMember(run, 'n2', false);
    // An unobserved state is not a pass.
    expect(held).toMatchObject({ outcome: 'held', heldFor: 'impact' });
    expect((held as { message: unknown }).message).toRead('(the response (503) is not JSON');
    const closing = runOn(fakeHost({ reply: () => ({ status: 503, body: 'busy' }) }), {
      window: window({ ...broken, until: end('2026-01-02T03:05:30Z') }),
    });
    expect(await beforeMember(closing, 'n2', false)).toMatchObject({ heldFor: 'window' });
  });
  it('a question is asked once for each member; declining holds the run', async () => {
    const asked: string[] = [];
    const answer = (isYes: boolean) => async (member: string) => {
      asked.push(member);
      return isYes;
    };
    const run = runOn(fakeHost(), { window: window({ confirmEach: answer(true) }) });
    expect([await beforeMember(run, 'n2', false), await beforeMember(run, 'n2', false)]).toEqual([
      'look-again',
      undefined,
    ]);
    const no = runOn(fakeHost(), { window: window({ confirmEach: answer(false) }) });
    expect(await beforeMember(no, 'n3', false)).toMatchObject({ outcome: 'held', heldFor: 'operator' });
    expect(asked).toEqual(['n2', 'n3']);
  });
});

describe('whether users are affected', () => {
  it('a command: 0 is yes, 1 is no, other codes are undecided', async () => {
    const states = await Promise.all(
      ['echo slow', 'exit 1', 'exit 2', 'nobody-has-this'].map(
        async (command) => (await askImpact(nodeHost(), { kind: 'command', command })).state,
      ),
    );
    expect(states).toEqual(['yes', 'no', 'unknown', 'unknown']);
  });
  it('a query is sent only with the token that was configured for it', async () => {
    const sentWith = async (token?: string): Promise<string | undefined> => {
      const host = fakeHost({ reply: () => ({ body: { status: 'success' } }) });
      const probe = { kind: 'query', query: 'up', prometheus: 'http://p/', ...(token && { token }) } as const;
      await askImpact(host, probe);
      return host.requests[0]?.headers?.['authorization'];
    };
    expect(await sentWith('t1')).toBe('Bearer t1');
    expect(await sentWith()).toBeUndefined();
  });
  it('a query: a sample is yes, as an alert fires, for any value', () => {
    const body = (data: unknown): string => JSON.stringify({ status: 'success', data });
    expect(impactOf(200, body({ resultType: 'vector', result: [] })).state).toBe('no');
    expect(
      impactOf(200, body({ resultType: 'vector', result: [{ metric: { job: 'a' }, value: [1, '0'] }] })),
    ).toEqual({ state: 'yes', reason: 'a sample: job=a' });
    expect(impactOf(200, body({ resultType: 'scalar', result: [1, '0'] })).state).toBe('no');
    expect(impactOf(200, body({ resultType: 'scalar', result: [1, '2'] })).state).toBe('yes');
    for (const [status, text] of [
      [400, '{"status":"error","error":"parse error"}'],
      [200, '<html>'],
      [200, body({ resultType: 'matrix', result: [] })],
    ] as const)
      expect(impactOf(status, text).state, text).toBe('unknown');
  });
});

const stamped = (event: object): UpgradeEvent =>
  ({ at: '2026-01-02T03:04:05.000Z', elapsed_ms: 0, ...event }) as UpgradeEvent;
const named = { cluster: 'prod', run: 'r1', action: 'upgrade', from: '3.4', to: '3.5' };
const finished = stamped({
  event: 'run-finished',
  outcome: 'done',
  message: 'cluster prod <runs> 3.5',
  report: { members: [], secret: 'x' },
});

describe('a notice', () => {
  it('a notice has the facts for a person, without plans, commands or reports', () => {
    const notice = noticeOf(named, finished);
    expect(notice).toEqual({
      event: 'run-finished',
      outcome: 'done',
      at: '2026-01-02T03:04:05.000Z',
      text: 'cluster prod <runs> 3.5',
      ...named,
    });
    expect(JSON.parse(noticeBody(notice as never, 'slack'))).toEqual({
      text: '*done* prod 3.4 → 3.5: cluster prod &lt;runs&gt; 3.5',
    });
    expect(noticeOf(named, stamped({ event: 'canary', ok: true }))).toBeUndefined();
  });
  it('a notice reports a member once, when its new version is healthy', () => {
    const ended = (kind: string, more: object = {}) =>
      noticeOf(
        named,
        stamped({ event: 'step-finished', step: { kind, member: 'n2' }, duration_ms: 1, ...more } as never),
      );
    expect(ended('gate')).toMatchObject({ event: 'member-upgraded', member: 'n2' });
    expect(ended('gate', { was_done_before: true })).toBeUndefined();
    expect(ended('start')).toBeUndefined();
    const began = stamped({ event: 'run-started', action: 'rollback' } as never);
    expect(noticeOf(named, began)).toMatchObject({ event: 'run-started', text: 'rollback begins' });
  });
  it('a rejected notice is sent once again, and the run reports it once', async () => {
    const host = fakeHost({ reply: () => ({ status: 500 }) });
    const warned: string[] = [];
    const hook = { url: 'https://hooks.example/T0/secret', shape: 'json' } as const;
    const { take, finish } = notifier(host, hook, named, (text) => warned.push(text));
    take(finished);
    take(finished);
    await finish();
    expect(host.requests).toHaveLength(4);
    expect(warned).toEqual(['cannot send a notice to hooks.example: it returned 500; the run continues']);
  });
  it('a notice is signed over its time and its body', async () => {
    const host = nodeHost();
    const seen: { body: string; signature: string }[] = [];
    const listener = await host.network.listen(
      async (request) => {
        seen.push({
          body: Buffer.from(await request.read(65_536)).toString(),
          signature: String(request.headers['opsctl-signature']),
        });
        return { status: seen.length === 1 ? 500 : 204 };
      },
      { host: '127.0.0.1', port: 0 },
    );
    const warned: string[] = [];
    const { take, finish } = notifier(
      host,
      { url: `http://127.0.0.1:${listener.port}/T0/secret`, shape: 'json', secret: 'geheim' },
      named,
      (text) => warned.push(text),
    );
    take(finished);
    await finish();
    await listener.close();
    // The request was retried after the 500.
    expect([seen.length, warned]).toEqual([2, []]);
    const [, seconds = '', mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(seen[1]?.signature ?? '') ?? [];
    expect(mac).toBe(createHmac('sha256', 'geheim').update(`${seconds}.${seen[1]?.body}`).digest('hex'));
    expect(signature('geheim', Number(seconds), seen[1]?.body ?? '')).toBe(seen[1]?.signature);
  });
  it('a notice that cannot be sent is one warning without the secret path, and the run continues', async () => {
    const warned: string[] = [];
    const { take, finish } = notifier(
      nodeHost(),
      { url: 'http://127.0.0.1:1/T0/secret', shape: 'slack' },
      named,
      (text) => warned.push(text),
    );
    take(finished);
    take(finished);
    await finish();
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain('127.0.0.1:1');
    expect(warned[0]).not.toContain('secret');
  });
});

describe('notices to a receiver that hangs', () => {
  it('wait up to a hundred; the next one is dropped with one warning, and the end does not wait for ever', async () => {
    const [warned, sent]: [string[], string[]] = [[], []];
    const host = fakeHost();
    const hanging: typeof host.network.request = ({ url, signal }) => {
      sent.push(url);
      return new Promise((_, reject) =>
        signal?.addEventListener('abort', () => reject(new Error('it was given up'))),
      );
    };
    const { take, finish } = notifier(
      { ...host, network: { ...host.network, request: hanging } },
      { url: 'http://127.0.0.1:1/T0/secret', shape: 'json' },
      named,
      (text) => warned.push(text),
    );
    for (let n = 0; n < 100; n += 1) take(finished);
    expect(warned).toEqual([]);
    take(finished);
    expect(warned).toEqual([expect.stringContaining('too many notices are waiting')]);
    await finish();
    expect([sent.length, warned.length]).toEqual([1, 1]);
  });
});

describe('the metrics file', () => {
  it('the metrics file is OpenMetrics with progress, members by version, times and the outcome', () => {
    const text = metricsText({
      named,
      startedMs: 1000,
      updatedMs: 61_000,
      stepsDone: 4,
      steps: 9,
      versions: { a: '3.4', b: '3.5', c: '3.4' },
    });
    expect(text.split('\n').slice(-2)).toEqual(['# EOF', '']);
    expect(text).toContain('opsctl_kv_run_members{cluster="prod",version="3.4"} 2\n');
    expect(text).toContain('opsctl_kv_run_running{cluster="prod"} 1\n');
    expect(text).not.toContain('end_timestamp');
    const over = metricsText({
      named: { ...named, cluster: 'a"b\\' },
      startedMs: 0,
      updatedMs: 0,
      stepsDone: 9,
      steps: 9,
      versions: {},
      outcome: 'held',
    });
    expect(over).toContain('opsctl_kv_run_last_outcome{cluster="a\\"b\\\\",outcome="held"} 1\n');
    expect(over).toContain('outcome="done"} 0\n');
    // Each name has its type once, followed by all its samples.
    const names = over.split('\n').flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(new Set(names).size).toBe(names.length);
  });
  testInDirectory(
    'the metrics file follows the run, readable for others; an unwritable one is one warning',
    async ({ directory }) => {
      const path = join(directory, 'opsctl.prom');
      const warned: string[] = [];
      const file = metricsFile(nodeHost(), path, named, (text) => warned.push(text));
      file.take(
        stamped({ event: 'run-started', action: 'upgrade', run: 'r1', plan: planned(), journal: '' }),
      );
      file.take(finished);
      await file.finish();
      expect(readFileSync(path, 'utf8')).toContain('outcome="done"} 1');
      const none = metricsFile(nodeHost(), join(directory, 'none', 'x.prom'), named, (text) =>
        warned.push(text),
      );
      none.take(finished);
      await none.finish();
      expect(warned).toEqual([expect.stringContaining('cannot be written')]);
    },
  );
});

describe('the history of a run', () => {
  it(
    'the history has the operator, accepted and confirmed items, the outcome and the working time',
    covers('defect/U-56'),
    () => {
      const plan = { ...planned(), digest: 'abc', options: { ...planned().options, accept: ['disk-space'] } };
      const time = (minute: number): string => `2026-01-02T03:${String(minute).padStart(2, '0')}:00.000Z`;
      const entries: JournalEntry[] = [
        {
          kind: 'opened',
          at: time(0),
          run: 'r1',
          action: 'upgrade',
          plan,
          owner: { user: 'ann', host: 'h1', pid: 1 },
          cluster_file: '',
        },
        { kind: 'end', at: time(2), step: `${plan.order[0]}.gate` },
        { kind: 'closed', at: time(3), outcome: 'held', message: 'held', held_for: 'window' },
        { kind: 'resumed', at: time(30), owner: { user: 'bob', host: 'h2', pid: 2 }, action: 'upgrade' },
        { kind: 'paused', at: time(31), member: 'n3', reason: 'x' },
        { kind: 'continued', at: time(33), member: 'n3', waited_ms: 120_000 },
        { kind: 'crossing-confirmed', at: time(34), confirmed_by: 'bob' },
        { kind: 'closed', at: time(35), outcome: 'done', message: 'done' },
      ];
      expect(historyRow({ run: 'r1', directory: '/d', entries })).toMatchObject({
        user: 'ann',
        by: ['ann@h1', 'bob@h2'],
        digest: 'abc',
        accepted: ['disk-space'],
        crossing_confirmed_by: 'bob',
        outcome: 'done',
        duration_ms: 8 * 60_000,
        paused_ms: 120_000,
        resumes: 1,
        members_upgraded: [plan.order[0]],
        started_at: time(0),
        ended_at: time(35),
      });
      expect(historyRow({ run: 'r1', directory: '/d', entries: entries.slice(0, 2) })).toMatchObject({
        action: 'upgrade',
        outcome: 'unfinished',
        ended_at: null,
      });
      const [opened] = entries as [Extract<JournalEntry, { kind: 'opened' }>];
      const down = { ...opened, plan: { ...plan, kind: 'downgrade' as const } };
      expect(historyRow({ run: 'r2', directory: '/d', entries: [down] })?.action).toBe('downgrade');
      const back: JournalEntry = { kind: 'resumed', at: time(1), owner: opened.owner, action: 'rollback' };
      expect(historyRow({ run: 'r2', directory: '/d', entries: [down, back] })).toMatchObject({
        action: 'rollback',
        from: plan.to,
        to: plan.from,
      });
    },
  );
});

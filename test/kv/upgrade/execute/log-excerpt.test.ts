import { describe, expect, it } from 'vitest';
import { revertedAfter } from '../../../../src/kv/upgrade/execute/ending.ts';
import {
  logExcerpt,
  markLog,
  refusedDowngrade,
  storedMarks,
  tellingLine,
} from '../../../../src/kv/upgrade/execute/member.ts';
import { endedProcess, runningProcess } from '../../../../src/kv/upgrade/run.ts';
import { isKilled } from '../../../../src/kv/upgrade/watch/log-lines.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

/** Measured output of 3.6 when it starts with a log that contains a v2 read. */
const v2Panic = [
  '{"level":"panic","caller":"etcdserver/apply_v2.go:31","msg":"detected disallowed v2 WAL for stage --v2-deprecation=write-only","method":"QGET"}',
  'panic: detected disallowed v2 WAL for stage --v2-deprecation=write-only [recovered]',
  '\tpanic: execute job failed',
  'goroutine 178 [running]:',
  'go.uber.org/zap/zapcore.CheckWriteAction.OnWrite(0x0?, 0x0?, {0x0?, 0x0?, 0x7244a9d0ee0?})',
  'panic({0x105fcc0?, 0x7244a9d0ee0?})',
  '\truntime/panic.go:860 +0x13a',
  'go.uber.org/zap.(*Logger).Panic(0x0?, {0x12dbde2?, 0x4?}, {0x7244ab1bcc0, 0x1, 0x1})',
  'created by go.etcd.io/etcd/pkg/v3/schedule.NewFIFOScheduler in goroutine 1',
];

describe('the log line in a message', () => {
  it('the log line is the reason of a panic, not the end of its stack trace', covers('defect/U-49'), () => {
    expect(tellingLine(v2Panic)).toBe(v2Panic[1]);
  });
  it('the log line is the last one with an error, otherwise the last line', covers('defect/U-48'), () => {
    const life = '2026-01-01 00:00:00.0 I | etcdserver: published';
    expect(tellingLine(['2026-01-01 00:00:00.0 C | etcdmain: no', life])).toMatch(/etcdmain: no$/);
    expect(tellingLine([life])).toBe(life);
  });
  it(
    'the log line was written after the start: lines of the previous version are ignored',
    covers('defect/U-47'),
    async () => {
      const lines = ['2026-01-01 00:00:00.0 I | rafthttp: stopped peer 313b445161a2af13'];
      const run = runOn(fakeHost({}), {}, { logTail: async () => [...lines] });
      await markLog(run, 'n2');
      expect(await logExcerpt(run, 'n2', endedProcess())).toBe(' (it wrote no line to its log)');
      lines.push('boom');
      expect(await logExcerpt(run, 'n2', endedProcess())).toContain('boom');
    },
  );
  it.each([
    ['has ended without an exit code', endedProcess(), true],
    ['was ended by a signal', endedProcess(null), true],
    ['was ended by a signal that a shell reports', endedProcess(137), true],
    ['exited with a code', endedProcess(3), false],
    ['exited with code 0', endedProcess(0), false],
    ['still runs', runningProcess, false],
  ])('names a kill as a possible cause only without an exit code: it %s', async (_, process, isNamed) => {
    const lines = ['old'];
    const run = runOn(fakeHost({}), {}, { logTail: async () => [...lines] });
    await markLog(run, 'n2');
    lines.push('boom');
    expect(isKilled(await logExcerpt(run, 'n2', process))).toBe(isNamed);
  });
});

describe('a member whose log holds v2 requests', () => {
  it('gets its old version back, and the first hint empties its log: another program would not help', () => {
    const run = runOn(fakeHost({}));
    const hints = (reason: string) => revertedAfter(run, 'n2', reason).error?.detail.tryThis ?? [];
    const [first, second] = hints(`n2 did not become healthy (the end of its log: ${v2Panic[1]})`);
    expect(first).toEqual(naming('3.5', '--snapshot-count', '1', 'member', 'write', 'log'));
    expect(second).toEqual(naming('n2', 'cause', 'failure', 'version'));
    expect(hints('n2 did not become healthy')[0]).toEqual(naming('n2', 'cause', 'failure', 'version'));
  });
});

it('four hundred log lines are read, and an unreadable log yields no line', async () => {
  const asked: number[] = [];
  const run = runOn(
    fakeHost(),
    {},
    {
      logTail: async (_, lines) => {
        asked.push(lines);
        if (asked.length > 1) throw new Error('no ssh');
        return ['a', 'b'];
      },
    },
  );
  await markLog(run, 'n2');
  expect(run.state.logMark('n2')).toEqual(['b']);
  expect([await logExcerpt(run, 'n2', endedProcess()), await refusedDowngrade(run, 'n2')]).toEqual([
    '',
    false,
  ]);
  expect(asked).toEqual([400, 400, 400]);
});

it('a log that was unreadable before the start proves nothing about the start', async () => {
  let isAway = true;
  const driver = {
    logTail: async () => {
      if (isAway) throw new Error('no ssh');
      return ['panic: cluster cannot be downgraded'];
    },
  };
  const run = runOn(fakeHost(), {}, driver);
  await markLog(run, 'n2');
  expect([run.state.logMark('n2'), run.state.isStarted('n2')]).toEqual([undefined, true]);
  expect(run.written).toMatchObject([{ kind: 'log-marked', member: 'n2', line: null, is_unread: true }]);
  isAway = false;
  expect(await refusedDowngrade(run, 'n2')).toBe(false);
  expect(await logExcerpt(run, 'n2', endedProcess())).toEqual(naming('before', 'start', 'downgraded'));
});

it('the marks of starts are read from the journal of an interrupted run', () => {
  const at = '';
  expect([
    ...storedMarks([
      { kind: 'log-marked', at, member: 'n1', line: 'a' },
      { kind: 'log-marked', at, member: 'n2', line: null },
      { kind: 'log-marked', at, member: 'n1', line: 'b' },
      { kind: 'log-marked', at, member: 'n3', line: null, is_unread: true },
    ]),
  ]).toEqual([
    ['n1', ['b']],
    ['n2', []],
    ['n3', undefined],
  ]);
});

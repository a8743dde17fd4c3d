import { describe, expect, it } from 'vitest';
import { formOf, logLine } from '../../../src/etcd-sim/forms.ts';
import { decideVersion } from '../../../src/etcd-sim/member/monitor.ts';

const peer = (version: string) => ({ id: 'a', name: 'n', version, applied: 1, now: 0 });
describe('the cluster version', () => {
  // spec/store#states: mixed members run at the lowest common version.
  it.each([
    ['3.2.32', ['3.2.32', '3.2.32'], '3.2.0'],
    ['3.3.27', ['3.2.32', '3.3.27'], '3.2.0'],
    ['3.3.27', ['3.3.25', '3.3.27'], '3.3.0'],
    ['3.10.1', ['3.9.0'], '3.9.0'],
    ['3.4.23', [], '3.4.0'],
  ])('%s with %j is %s', (own, others, expected) =>
    expect(decideVersion(own, others.map(peer))).toBe(expected),
  );
  it('the cluster version is undecided while a member does not respond', () =>
    expect(decideVersion('3.3.27', [peer('3.3.27'), undefined])).toBeUndefined());
});

describe('lines of the log', () => {
  const at = Date.UTC(2026, 2, 31, 12, 30, 1, 45);
  const line = (version: string): string => {
    const form = formOf(version);
    if (form === undefined) throw new Error('no form');
    return logLine(form, at, 'W', 'rafthttp', 'peer x became inactive');
  };
  it.each(['3.2.32', '3.3.27', '3.4.23'])('log lines are text in %s', (version) =>
    expect(line(version)).toBe('2026-03-31 12:30:01.045000 W | rafthttp: peer x became inactive'),
  );
  it('log lines are JSON in 3.5', () =>
    expect(JSON.parse(line('3.5.16'))).toEqual({
      level: 'warn',
      ts: '2026-03-31T12:30:01.045Z',
      caller: 'rafthttp',
      msg: 'peer x became inactive',
    }));
  it('there is no form of a version that is not simulated', () => expect(formOf('3.9.0')).toBeUndefined());
});

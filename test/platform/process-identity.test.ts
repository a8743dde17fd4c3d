import { expect, test } from 'vitest';
import { nodeHost } from '../../src/platform/node/host.ts';
import {
  describeProcess,
  type ProcessIdentity,
  processState,
  signalRecorded,
  waysPast,
} from '../../src/platform/process-identity.ts';
import type { Host } from '../../src/platform/host.ts';

const initial = 'pid:[4026531836]';
const here = { machineId: 'id', bootId: 'boot', pidNamespace: initial };
const hostWith = (scope: object = here) => {
  const signaled: number[] = [];
  const host = {
    hostname: 'here',
    processes: {
      scope: () => scope,
      isAlive: (pid: number) => pid === 5,
      startMark: (pid: number) => (pid === 5 ? '1@boot' : undefined),
      signal: (pid: number) => signaled.push(pid) > 0,
    },
  } as unknown as Pick<Host, 'hostname' | 'processes'>;
  return { host, signaled };
};
const alive: ProcessIdentity = { pid: 5, mark: '1@boot', machine: 'here', ...here };
const dead: ProcessIdentity = { ...alive, pid: 6 };
const old = { machineId: undefined, bootId: undefined, pidNamespace: undefined };

test.each<[string, ProcessIdentity, string]>([
  ['a living process', alive, 'alive'],
  ['a dead process', dead, 'gone'],
  ['a process ID that was reused', { ...alive, mark: '2@boot' }, 'gone'],
  ['another host name', { ...dead, machine: 'there' }, 'unknown'],
  ['another host name and a living ID', { ...alive, machine: 'there' }, 'unknown'],
  ['another machine with this host name', { ...alive, machineId: 'other' }, 'unknown'],
  ['another namespace', { ...dead, pidNamespace: 'pid:[9]' }, 'unknown'],
  ['another namespace and a living ID', { ...alive, pidNamespace: 'pid:[9]' }, 'unknown'],
  [
    'a container before a restart of this machine',
    { ...dead, bootId: 'b0', pidNamespace: 'pid:[9]' },
    'unknown',
  ],
  ['this machine before its restart', { ...alive, bootId: 'b0' }, 'gone'],
  ['version 0.1.0, alive', { ...alive, ...old }, 'alive'],
  ['version 0.1.0, dead here', { ...dead, ...old }, 'unknown'],
  ['version 0.1.0 on another machine', { ...alive, ...old, machine: 'there' }, 'unknown'],
  ['version 0.1.0 in another boot', { ...alive, ...old, mark: '1@b0' }, 'unknown'],
])('%s: %s is %s', (_, recorded, state) => {
  const { host, signaled } = hostWith();
  expect(processState(host, recorded)).toBe(state);
  const isSignaled = state === 'alive';
  expect(signalRecorded(host, recorded, 'SIGTERM')).toBe(isSignaled);
  expect(signaled).toEqual(isSignaled ? [5] : []);
  const advice = waysPast(host, recorded, '/l').join('\n');
  expect(advice.includes('kill')).toBe(isSignaled);
  expect(advice.includes('rm /l')).toBe(state !== 'alive');
  expect(describeProcess(host, recorded).includes(' on ')).toBe(state === 'unknown');
});

test('a process without a start mark is never signaled', () => {
  const { host, signaled } = hostWith({});
  const recorded = { pid: 5, machine: 'here' };
  expect(processState(host, recorded)).toBe('alive');
  expect(signalRecorded(host, recorded, 'SIGTERM')).toBe(false);
  expect(waysPast(host, recorded, '/l').join(' ')).not.toContain('kill');
  expect(signaled).toEqual([]);
});

test('a system without namespaces compares host names', () => {
  const { host } = hostWith({});
  expect(processState(host, { pid: 6, machine: 'here' })).toBe('gone');
  expect(processState(host, { pid: 6, machine: 'there' })).toBe('unknown');
});

test('the random bytes of the host have the requested length and do not repeat', () => {
  const { random } = nodeHost();
  expect([0, 1, 4, 32, 100].map((count) => random(count).length)).toEqual([0, 1, 4, 32, 100]);
  const seen = new Set(Array.from({ length: 100 }, () => Buffer.from(random(16)).toString('hex')));
  expect(seen.size).toBe(100);
});

import { expect, test } from 'vitest';
import { ownerOf, makeLockHeldError } from '../../../src/kv/engine/locks.ts';
import type { Host } from '../../../src/platform/host.ts';
import { naming } from '../../support/facts.ts';
import { partlyMade } from '../../support/context.ts';

const host = (env: Record<string, string>, uid = 1000): Host =>
  partlyMade<Host>({
    env,
    uid,
    hostname: 'bastion',
    pid: 42,
    processes: { startMark: () => 'm1', scope: () => ({ machineId: 'id', bootId: 'b', pidNamespace: 'n' }) },
  });

test.each([
  [{ USER: 'ada', LOGNAME: 'other' }, 1000, 'ada'],
  [{ LOGNAME: 'grace' }, 1000, 'grace'],
  [{}, 0, 'root'],
  [{}, 1000, 'uid 1000'],
  [{}, -1, undefined],
])('the owner of a lock with %j and uid %i is %s', (env, uid, user) => {
  const owner = ownerOf(host(env as Record<string, string>, uid));
  expect(owner).toEqual({
    ...(user === undefined ? {} : { user }),
    host: 'bastion',
    pid: 42,
    start_mark: 'm1',
    machine_id: 'id',
    boot_id: 'b',
    pid_namespace: 'n',
  });
});

test('an error names the owner of a held lock, its machine, its start and its run', () => {
  const owner = ownerOf(host({ USER: 'ada' }));
  const error = makeLockHeldError(
    { owner, since: '2026-01-02T03:04:05.000Z', run: 'r-1' },
    '/run/lock',
    'wait for it',
  );
  expect(error.message).toMatch(/: ada on bastion, process 42, since .*2026.* \(\/run\/lock\)$/);
  expect(error.detail).toMatchObject({
    code: 'LOCKED',
    tryThis: ['wait for it', 'opsctl kv status'],
    data: { run: 'r-1', owner },
  });
  const nameless = makeLockHeldError(
    { owner: ownerOf(host({}, -1)), since: 'yesterday', run: 'r-1' },
    'here',
    'hint',
  );
  expect(nameless.message).toEqual(
    naming('unknown user', 'bastion', '42', 'yesterday', 'here', 'locked', 'operator', 'unknown'),
  );
});

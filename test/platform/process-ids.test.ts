/** A process ID from a file identifies a process only together with its machine, boot, namespace and start time. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../src/', import.meta.url).pathname;
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.ts'),
);
const callersOf = (pattern: RegExp): string[] =>
  sources.filter((path) => pattern.test(readFileSync(join(root, path), 'utf8'))).sort();

/** Files that check or signal a bare process ID, and the reason why they use no record of another process. */
const bareIds: Readonly<Record<string, string>> = {
  'api/rate.ts': 'each ticket contains its place, and tickets of other places count by their time',
  'commands/mock/kv.ts': 'pidOf compares the command line of the process',
  'commands/mock/serve.ts': 'the child that this process has just started',
  'etcd-sim/cluster/layout.ts': 'the file has the format of etcd; pidOf compares the command line',
  'kv/upgrade/supervisors/local.ts': 'the ID comes from a process whose command line and start mark fit',
  'kv/upgrade/supervisors/process-record.ts': 'the file has the format of etcd; its caller compares identity',
  'mock-server/instance-lock.ts': 'tickets of earlier versions contain no owner and decide only the order',
  'platform/process-identity.ts': 'the rule itself',
};

test('only these files check or signal a bare process ID', () => {
  expect(callersOf(/processes\.(?:isAlive|signal)\(|\bsignal\(pid,/)).toEqual(Object.keys(bareIds).sort());
});

test('every lock file uses the holder of platform/file-lock.ts', () => {
  const creators = callersOf(/\btryLock(?:UntilHolderIsKnown)?(?:<\w+>)?\(/).filter(
    (path) => path !== 'platform/file-lock.ts',
  );
  expect(creators).toEqual([
    'auth/credential-store/guarded-file.ts',
    'config/store.ts',
    'kv/engine/locks.ts',
    'kv/upgrade/fleet/fleet-run.ts',
    'labels/lock-file.ts',
    'mock-server/instance-lock.ts',
    'tracker/bulk/earlier-run.ts',
  ]);
  for (const path of [...creators, 'auth/detached-login.ts'])
    expect(readFileSync(join(root, path), 'utf8'), path).toMatch(/\bthisProcess\(host\)/);
});

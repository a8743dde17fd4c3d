import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  pair,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { slice } from '../support/slice.ts';
import { makeDirectory } from '../support/directory.ts';
import { hashAt, snapshotFile } from '../../src/etcd-sim/disk/db-file.ts';
import type { Command } from '../../src/etcd-sim/state/command.ts';
import { Machine } from '../../src/etcd-sim/state/machine.ts';
import { inMemory, snapshotHistory } from '../../src/kv/client/snapshot-content.ts';
import { errorOf } from '../support/facts.ts';

const { from, to } = pair;
/** Pairs of versions that support hashes. 3.2 does not. */
const ways = [
  ['3.3', '3.4'],
  ['3.4', '3.5'],
].filter(([older, newer]) => hasBinaries(older as string, newer as string)) as [string, string][];
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});

const url = (): string => cluster.urls[0] as string;
const endpoints = (): string => cluster.urls.map((one) => one.replace('http://', '')).join(',');
const hashes = (...more: string[]): Promise<Ran> =>
  opsctl(['kv', 'endpoint', 'hashkv', '--endpoints', endpoints(), '-o', 'json', ...more], { home });
type Event = { event: string; check?: string; detail: string };
const gateHashes = (ran: Ran): string[] =>
  ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event)
    .flatMap(({ event, check, detail }) => (event === 'gate-check' && check === 'hash' ? [detail] : []));
const upgrade = (format = 'ndjson', env: Record<string, string> = {}): Promise<Ran> =>
  opsctl(
    [
      'kv',
      'upgrade',
      '--cluster',
      cluster.file,
      '--yes',
      '--accept-point-of-no-return',
      '--no-canary',
      '-o',
      format,
    ],
    { home, env },
  );
const error = (ran: Ran): { code: string; message: string } => errorOf(ran);
const post = async (path: string, body: unknown): Promise<any> =>
  JSON.parse((await call(`${url()}/v3beta${path}`, body)).text);

const mark = 'A'.repeat(64);
/**
 * Writes the key and waits until every member has applied it. A member that is behind would read it from its
 * log after a restart and hide the corrupted file.
 */
const putMark = async (): Promise<void> => {
  await gatewayPut(url(), 'marked', mark);
  for (const one of cluster.urls) await call(`${one}${pair.prefix}/kv/range`, { key: base64('marked') });
};
/** Simulates a faulty disk: other bytes of the same length in the db file, which has no checksums. */
const spoil = (member: RealMember): void => {
  const path = join(member.data_dir, 'member', 'snap', 'db');
  const bytes = readFileSync(path);
  if (!bytes.includes(mark)) throw new Error(`${path} does not hold the mark yet`);
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at))
    bytes.fill('B', at, at + mark.length);
  writeFileSync(path, bytes);
};

/** Makes a linearizable read through each member, so that every member is up to date. */
const everyMemberIsUpToDate = async (): Promise<void> => {
  for (const one of cluster.urls) await call(`${one}/v3beta/kv/range`, { key: base64('k') });
};

describe.each(slice(ways, 1))('hashes of %s and %s', (older, newer) => {
  it('hashes equal those of the ctl, agree in a mixed cluster around a compaction, and every health check compares them', async () => {
    cluster = await startCluster({ size: 3, from: older, to: newer });
    for (let i = 0; i < 12; i += 1) await gatewayPut(url(), `k/${i % 5}`, `v${i}`, '/v3beta');
    await post('/kv/deleterange', { key: base64('k/1') });
    await everyMemberIsUpToDate();
    const ours = await hashes();
    expect(ours.code).toBe(0);
    const { ctl } = binariesOf(older) as Binaries;
    const theirs = execFileSync(ctl, ['endpoint', 'hashkv', '--endpoints', endpoints()], {
      env: { ETCDCTL_API: '3' },
    });
    const lines = ours
      .json()
      .map(({ endpoint, hash }: { endpoint: string; hash: number }) => `${endpoint}, ${hash}`);
    expect(theirs.toString().trim().split('\n').sort()).toEqual(lines.sort());
    expect(ours.json()[0]).toMatchObject({
      revision: 14,
      compact_revision: -1,
      version: expect.stringContaining(older),
    });

    // A compaction at a deletion with half of the cluster on each version. In this state versions have
    // computed different hashes.
    const held = await opsctl(
      [
        'kv',
        'upgrade',
        '--cluster',
        cluster.file,
        '--yes',
        '--accept-point-of-no-return',
        '--no-canary',
        '--hold-last',
        '-o',
        'ndjson',
      ],
      { home },
    );
    expect(held.code).toBe(8);
    const { header } = await post('/kv/deleterange', { key: base64('k/2') });
    await gatewayPut(url(), 'k/9', 'x', '/v3beta');
    await post('/kv/compaction', { revision: header.revision, physical: true });
    // Only the member that received the request waited for the compaction.
    await everyMemberIsUpToDate();
    const mixed = (await hashes()).json();
    expect(new Set(mixed.map((row: { version: string }) => row.version)).size).toBe(2);
    expect(new Set(mixed.map((row: { hash: number }) => row.hash)).size).toBe(1);
    expect(mixed[0].compact_revision).toBe(Number(header.revision));
    const done = await opsctl(
      [
        'kv',
        'resume',
        '--cluster',
        cluster.file,
        '--yes',
        '--accept-point-of-no-return',
        '--no-canary',
        '-o',
        'ndjson',
      ],
      { home },
    );
    expect(done.code).toBe(0);
    const compared = [...gateHashes(held), ...gateHashes(done)];
    expect(compared).toHaveLength(3);
    for (const detail of compared) expect(detail).toMatch(/^same hash at revision \d+ on n\d, n\d, n\d$/);
  });
});

describe.each(
  slice(
    ['3.3', '3.4', '3.5'].filter((minor) => hasBinaries(minor)),
    1,
  ),
)('hashes of %s over TLS', (minor) => {
  it('hashes are requested with the certificates of the cluster file', async () => {
    cluster = await startCluster({ size: 3, from: minor, to: minor, tls: {} });
    const ran = await opsctl(['kv', 'endpoint', 'hashkv', '--cluster', cluster.file, '-o', 'json'], {
      home,
    });
    expect(`${ran.code} ${ran.stderr}`).toBe('0 ');
    expect(new Set(ran.json().map((row: { hash: number }) => row.hash)).size).toBe(1);
  });
});

describe.runIf(hasBinaries(from, to))('members that hold different data', () => {
  // 3.2 has no hash of its keyspace, so the check is impossible there.
  it.runIf(from !== '3.2')('divergent data is found before any change', async () => {
    cluster = await startCluster({ size: 3, from, to });
    await putMark();
    const victim = cluster.members[1] as RealMember;
    cluster.kill(victim, 'SIGTERM');
    await cluster.gone(victim);
    spoil(victim);
    cluster.start(victim);
    await cluster.healthy();
    const ran = await upgrade('json');
    expect(ran.code).toBe(10);
    expect(error(ran)).toMatchObject({ code: 'DATA_AGREES' });
    expect(error(ran).message).toContain('n2 holds different data');
    const said = await hashes();
    expect(said.code).toBe(20);
    expect(said.stderr).toContain(`${victim.client_url.replace('http://', '')} holds different data`);
  });

  it.runIf(from !== '3.2')(
    'divergent data in the middle: the health check of the replaced member fails, and a rollback cannot fix it',
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      await putMark();
      const real = (binariesOf(to) as Binaries).server;
      const program = join(cluster.directory, 'spoiling');
      const body = `[ "$1" = --version ] && exec ${real} --version\nfor word; do [ -f "$word/member/snap/db" ] && LC_ALL=C sed -i s/${mark}/${'B'.repeat(64)}/ "$word/member/snap/db"; done\nexec ${real} "$@"\n`;
      writeFileSync(program, `#!/bin/sh\n${body}`);
      chmodSync(program, 0o755);
      cluster.write(
        {},
        cluster.members.map((member) => ({
          ...member,
          new_binary: program,
          new_command: [program, ...member.new_command.slice(1)],
        })),
      );
      const ran = await upgrade('json');
      expect(ran.code).toBe(8);
      expect(error(ran).message).toMatch(
        /^(n\d) did not become healthy: hash: different data at revision \d+: .*; opsctl kv replace-member \1 gives it the data of the other members/,
      );
      const versions = await Promise.all(
        cluster.urls.map(async (one) => JSON.parse((await call(`${one}/version`)).text).etcdserver as string),
      );
      expect(versions.every((version) => version.startsWith(from))).toBe(true);
    },
  );

  it.runIf(from !== '3.2')(
    'divergent data of another member stops the run with its name, and the healthy one keeps its new version',
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      await putMark();
      const leader = JSON.parse((await call(`${url()}${pair.prefix}/maintenance/status`, {})).text)
        .leader as string;
      const ids = await Promise.all(
        cluster.urls.map(
          async (one) =>
            JSON.parse((await call(`${one}${pair.prefix}/maintenance/status`, {})).text).header
              .member_id as string,
        ),
      );
      const [first, second] = cluster.members.filter((_, at) => ids[at] !== leader) as [
        RealMember,
        RealMember,
      ];
      // When the first follower starts its new version, the second follower has been restarted with other
      // data.
      const real = (binariesOf(to) as Binaries).server;
      const program = join(cluster.directory, 'other');
      const again = [second.old_command[0], ...second.old_command.slice(1)]
        .map((word) => `'${word}'`)
        .join(' ');
      writeFileSync(
        program,
        `#!/bin/sh
[ "$1" = --version ] && exec ${real} --version
if [ ! -e ${cluster.directory}/once ]; then
  touch ${cluster.directory}/once
  kill -TERM "$(cat ${second.pid_file})"
  while kill -0 "$(cat ${second.pid_file})" 2>/dev/null && ! grep -q 'State:.Z' /proc/$(cat ${second.pid_file})/status; do sleep 0.05; done
  LC_ALL=C sed -i s/${mark}/${'B'.repeat(64)}/ ${second.data_dir}/member/snap/db
  nohup ${again} >> ${second.log_file} 2>&1 &
  echo $! > ${second.pid_file}
fi
exec ${real} "$@"
`,
      );
      chmodSync(program, 0o755);
      cluster.write(
        {},
        cluster.members.map((member) =>
          member.name === first.name
            ? { ...member, new_binary: program, new_command: [program, ...member.new_command.slice(1)] }
            : member,
        ),
      );
      const ran = await upgrade('json');
      expect(ran.code).toBe(8);
      expect(error(ran)).toMatchObject({ code: 'DATA_DIFFERS' });
      expect(error(ran).message).toContain(`${second.name} has different data`);
      expect(JSON.parse((await call(`${first.client_url}/version`)).text).etcdserver.startsWith(to)).toBe(
        true,
      );
    },
  );
});

describe.runIf(hasBinaries('3.3', '3.4', '3.5'))('hashes with authentication', () => {
  it.each(slice(ways, 1))('%s and %s respond to the user of the cluster file', async (older, newer) => {
    cluster = await startCluster({ size: 3, from: older, to: newer });
    for (const [path, body] of [
      ['/auth/user/add', { name: 'root', password: 'open sesame' }],
      ['/auth/role/add', { name: 'root' }],
      ['/auth/user/grant', { user: 'root', role: 'root' }],
      ['/auth/enable', {}],
    ] as const)
      expect(await post(path, body)).not.toHaveProperty('error');
    cluster.write({ user: { name: 'root', password_env: 'SECRET_OF_STORE' } });
    const ran = await upgrade('ndjson', { SECRET_OF_STORE: 'open sesame' });
    expect(ran.code).toBe(0);
    for (const detail of gateHashes(ran)) expect(detail).toContain('same hash');
  });
});

/** Each command for the simulated state, and its request to a real server. */
const changes: readonly (readonly [Command, path: string, body: unknown])[] = [
  ...['a', 'b', 'c'].map(
    (key) =>
      [
        { op: 'put', key, value: base64(`${key}1`) },
        '/kv/put',
        { key: base64(key), value: base64(`${key}1`) },
      ] as const,
  ),
  [{ op: 'delete', key: 'b' }, '/kv/deleterange', { key: base64('b') }],
  [
    {
      op: 'txn',
      compare: [],
      success: ['d', 'e'].map((key) => ({ op: 'put', key, value: '' })),
      failure: [],
    },
    '/kv/txn',
    { success: ['d', 'e'].map((key) => ({ requestPut: { key: base64(key), value: '' } })) },
  ],
  [{ op: 'compact', revision: 5 }, '/kv/compaction', { revision: 5, physical: true }],
  [{ op: 'put', key: 'b', value: base64('b2') }, '/kv/put', { key: base64('b'), value: base64('b2') }],
  [{ op: 'grant', id: '77', ttl: 600 }, '/lease/grant', { ID: 77, TTL: 600 }],
  [
    { op: 'put', key: 'l', value: base64('x'), lease: '77' },
    '/kv/put',
    { key: base64('l'), value: base64('x'), lease: 77 },
  ],
  [{ op: 'delete', key: 'a', end: 'b' }, '/kv/deleterange', { key: base64('a'), range_end: base64('b') }],
  [{ op: 'delete', key: 'l' }, '/kv/deleterange', { key: base64('l') }],
];
/** The changes of a snapshot in a new simulated state. */
const restored = (file: Buffer): Machine => {
  const machine = new Machine(1e9);
  const { records, ...state } = snapshotHistory(inMemory(file));
  machine.apply(1, 'restore', { op: 'restore', keys: records, ...state });
  return machine;
};
const revisionsOf = ({ keys }: Machine): readonly unknown[] => [
  keys.revision,
  keys.compacted,
  ...keys.changesFrom({ key: '\0', end: '\0' }, 0),
];
describe.each(['3.3', '3.4', '3.5'].filter((minor) => hasBinaries(minor)))(
  'a simulated store and %s',
  (minor) => {
    it('hashes are equal at each revision, also after a restore of either', async () => {
      cluster = await startCluster({ size: 1, from: minor, to: minor });
      const machine = new Machine(1e9);
      const { ctl } = binariesOf(minor) as Binaries;
      const real = (revision: number): number => {
        const words = ['endpoint', 'hashkv', '--rev', `${revision}`, '--endpoints', endpoints()];
        const out = execFileSync(ctl, words, { env: { ETCDCTL_API: '3' } }).toString();
        return Number(out.split(', ')[1]);
      };
      for (const [i, [command, path, body]] of changes.entries()) {
        expect(machine.apply(i + 1, `${i}`, command)).toMatchObject({ ok: true });
        expect(await post(path, body)).not.toHaveProperty('error');
        const { revision, compacted } = machine.keys;
        // Revision of the compaction: 3.5 keeps the hash from before it in memory, and earlier versions reject it.
        for (let at = Math.max(2, compacted + 1); at <= revision; at += 1)
          expect([path, at, hashAt(machine, at)]).toEqual([path, at, real(at)]);
      }
      const file = join(home, 'real.db');
      const words = ['kv', 'snapshot', 'save', file, '--endpoints', endpoints()];
      expect((await opsctl(words, { home })).code).toBe(0);
      const copies = [restored(readFileSync(file)), restored(snapshotFile(machine))];
      for (const copy of copies) {
        expect(hashAt(copy, copy.keys.revision)).toBe(real(machine.keys.revision));
        expect(revisionsOf(copy)).toEqual(revisionsOf(machine));
      }
    });
  },
);

/** Guards report observed facts. An unobserved fact is unknown and never a pass. */
import { describe, expect, it } from 'vitest';
import { gateMs } from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import { findingsOf, guards } from '../../../../src/kv/upgrade/guards/all.ts';
import { seeV2 } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { accessWith } from '../../../../src/kv/engine/access.ts';
import type { MemberStatus, Observation } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, clusterFile, observed, planned, planOptions, seen } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const levels = (guard: string, patch: Partial<MemberStatus>, more: Partial<Observation> = {}): string[] =>
  findingsOf({
    observation: observed([seen('n1', patch), seen('n2'), seen('n3')], more),
    cluster: clusterFile(),
    options: planOptions(),
    from: '3.3',
    to: '3.4',
  })
    .filter((finding) => finding.guard === guard)
    .map(({ level }) => level);
const host = seen('n1').host;

describe('the quota', () => {
  it.each([
    [0.5, 'pass'],
    [0.85, 'warn'],
    [0.96, 'fail'],
  ])('a database at %d of it: %s', covers('defect/U-30', 'guard/quota'), (share, level) => {
    expect(levels('quota', { db_size_bytes: share * 1e9, quota_bytes: 1e9 })).toEqual([level]);
  });
  it('an unread quota is unknown', () =>
    expect(levels('quota', { quota_bytes: undefined } as never)).toEqual(['unknown']));
});

describe('versions that must not be run or left', () => {
  it(
    'a withdrawn version as the new one is refused, with its source',
    covers('defect/U-29', 'guard/known-versions'),
    () => {
      const findings = findingsOf({
        observation: observed([
          seen('n1', { server_version: '3.4.23', host: { ...host, new_binary_version: '3.5.1' } }),
        ]),
        cluster: clusterFile(1),
        options: planOptions(),
        from: '3.4',
        to: '3.5',
      }).filter(({ guard }) => guard === 'known-versions');
      expect(findings.map(({ level }) => level)).toEqual(['fail']);
      expect(findings[0]?.message).toContain('https://github.com/etcd-io/etcd/issues/13766');
    },
  );
  it('good ones pass', () => expect(levels('known-versions', {})).not.toContain('fail'));
});

describe('hashes that were not compared', () => {
  it('uncompared hashes are unknown, with the reason', covers('defect/U-40'), () => {
    expect(levels('data-agrees', {}, { not_hashed: '3.2 cannot hash its data' })).toEqual(['unknown']);
    expect(levels('data-agrees', {})).toEqual(['pass']);
  });
});

describe('v2 data', () => {
  it('counts what the interface holds now, also without a snapshot file', covers('defect/U-46'), () => {
    expect(levels('v2-settle', {}, { v2: { bytes: 62_000_000 } })).toEqual(['warn']);
    expect(levels('v2-settle', {}, { v2: { bytes: 10 } })).toEqual(['pass']);
    const accepted = planOptions({ accept: ['v2-backup'] });
    const observation = observed(undefined, { v2: { bytes: 62_000_000 } });
    expect(planned(observation, undefined, accepted).steps.map(({ id }) => id)).toContain('n2.settle');
  });
  it('unread v2 data is unknown, never a pass', () => {
    expect(levels('v2-settle', {}, { v2: { unknown: 'its interface returned 401' } })).toEqual(['unknown']);
  });
  it('v2 data is read over the v2 interface, and never from a version that it could harm', async () => {
    const asked: string[] = [];
    const machine = (status: number, body: unknown) =>
      fakeHost({
        reply: ({ url }) => {
          asked.push(new URL(url).pathname);
          return { status, body };
        },
      });
    const look = (status: number, body: unknown, version: string) => {
      const at = machine(status, body);
      return seeV2(at, accessWith(at, undefined, undefined), seen('n1', { server_version: version }));
    };
    expect(
      await look(200, { action: 'get', node: { dir: true, nodes: [{ key: '/a', value: 'x' }] } }, '3.2.32'),
    ).toEqual({
      bytes: expect.any(Number),
    });
    expect(await look(200, { action: 'get', node: { dir: true } }, '3.3.27')).toEqual({ bytes: 0 });
    const bare = { action: 'get', node: { dir: true, nodes: [] } };
    expect(await look(200, bare, '3.2.32')).toEqual({ bytes: 0 });
    const directory = { action: 'get', node: { dir: true, nodes: [{ key: '/a', dir: true }] } };
    expect(await look(200, directory, '3.2.32')).toEqual({ bytes: expect.any(Number) });
    expect(await look(200, directory, '3.2.32')).not.toEqual({ bytes: 0 });
    expect(await look(404, {}, '3.4.23')).toEqual({ bytes: 0 });
    expect(await look(401, {}, '3.3.27')).toEqual({ unknown: naming('401', 'interface', 'returned') });
    asked.length = 0;
    expect(await look(200, {}, '3.5.16')).toEqual({ bytes: 0 });
    expect(asked).toEqual([]);
  });
});

it('the time of the gate grows with the database', covers('defect/U-35'), () => {
  const { members, ...others } = clusterFile();
  const env = { ETCD_QUOTA_BACKEND_BYTES: `${2 ** 40}` };
  const withLargeQuota = { ...others, members: members.map((member) => ({ ...member, env })) };
  const gate = (bytes: number, seconds?: number): number =>
    gateMs(
      {
        cluster: clusterFile(3, seconds === undefined ? {} : { timeouts: { gate_seconds: seconds } }),
        plan: planned(
          observed([seen('n1', { db_size_bytes: bytes, quota_bytes: 2 ** 40 }), seen('n2'), seen('n3')]),
          withLargeQuota,
        ),
      },
      'n1',
    );
  expect(Math.round(gate(20_480) / 1000)).toBe(60);
  expect(Math.round(gate(8 * 1024 ** 3) / 1000)).toBe(540);
  expect(Math.round(gate(1024 ** 3, 8) / 1000)).toBe(68);
});

describe('a pass', () => {
  it.each([[['n1', 'n2', 'n3']], [['n1', 'n2']], [['n2']]])(
    'a pass is never given to an unresponsive member: %j',
    (silent) => {
      const members = ['n1', 'n2', 'n3'].map((name) => (silent.includes(name) ? away(name) : seen(name)));
      const findings = findingsOf({
        observation: observed(members),
        cluster: clusterFile(),
        options: planOptions(),
        from: '3.3',
        to: '3.4',
      });
      const passed = findings.filter(({ level }) => level === 'pass');
      // Only a guard that does not apply passes: the path and the authentication do not depend on a member.
      expect(passed.map(({ guard }) => guard)).toEqual(['no-v2-data', 'auth-and-leases']);
      for (const { message } of passed) expect(message).toMatch(/^does not apply: /);
      expect(
        findings.some(({ level, message }) => level === 'unknown' && message.includes(silent[0] as string)),
      ).toBe(true);
    },
  );
});

describe('a member that does not respond', () => {
  const steps = [
    ['3.3', '3.4'],
    ['3.4', '3.5'],
    ['3.5', '3.6'],
  ] as const;
  const versionOf = (minor: string): string => `${minor}.33`;
  /** Five members, so that a majority is left without the silent member. */
  const findings = ([from, to]: (typeof steps)[number]) => {
    const facts = {
      server_version: versionOf(from),
      cluster_version: `${from}.0`,
      clients: { v2_requests: 0, v2_watchers: 0, versions: { [from]: 1 } },
      host: { ...host, old_binary_version: versionOf(from), new_binary_version: versionOf(to) },
    } as Partial<MemberStatus>;
    const members = ['n1', 'n2', 'n3', 'n4'].map((name) => seen(name, facts));
    return findingsOf({
      observation: observed([...members, away('n5', { server_version: versionOf(from) })]),
      cluster: clusterFile(5, { utl_binary: 'etcdutl' }),
      options: planOptions({ accept: ['known-versions'] }),
      ...{ from, to },
    });
  };
  const opening = /^cannot check n5, so it is unknown whether /;
  const clauses = (): Map<string, string> =>
    new Map(
      steps
        .flatMap(findings)
        .filter(({ message }) => opening.test(message))
        .map(({ guard, message }) => [guard, message.replace(opening, '')]),
    );
  it('makes the subject of every guard unknown in one clause with a verb', () => {
    const verb =
      /^[a-z0-9 ]+ (is|are|has|have|agree|belong|covers|exist|expires|follow|reaches|can|runs|survives|understands|uses)\b/;
    for (const [guard, clause] of clauses()) {
      expect.soft(clause, guard).toMatch(verb);
      // A clause has no remark, and it is about the cluster, not about opsctl.
      expect.soft(clause, guard).not.toMatch(/[:;(]|opsctl/);
    }
    const silent = guards.filter(({ id }) => !clauses().has(id)).map(({ id }) => id);
    // all-members-healthy fails for the member instead, and hook-programs reads only the cluster file.
    expect(silent).toEqual(['all-members-healthy', 'hook-programs', 'auth-and-leases']);
  });
  it('leaves a guard that does not apply to the step alone', () => {
    const levelsOf = (step: (typeof steps)[number], id: string) =>
      findings(step)
        .filter(({ guard }) => guard === id)
        .map(({ level }) => level);
    expect(steps.map((step) => levelsOf(step, 'no-v2-data'))).toEqual([['pass'], ['pass'], ['unknown']]);
  });
});

describe('a host that reports nothing', () => {
  it('no check of directories, disks, clocks or restores passes', () => {
    const blind = observed([seen('n1'), seen('n2', { host: { is_running: true } }), seen('n3')]);
    const found = findingsOf({
      observation: blind,
      cluster: clusterFile(),
      options: planOptions(),
      from: '3.3',
      to: '3.4',
    });
    const levelOf = (id: string) => found.filter(({ guard }) => guard === id).map(({ level }) => level);
    for (const id of [
      'data-directories',
      'db-file-present',
      'disk-space',
      'clocks-agree',
      'restore-possible',
    ])
      expect([id, levelOf(id)]).toEqual([id, ['unknown']]);
    expect(levelOf('binaries-are-right')).toContain('fail');
  });
});

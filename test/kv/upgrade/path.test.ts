import { describe, expect, it } from 'vitest';
import { clusterProblems } from '../../../src/kv/upgrade/cluster/cluster-file.ts';
import {
  hopView,
  minorsBetween,
  missingRows,
  nextHopOf,
  pathFrom,
  pathLines,
  withTable,
  viewFor,
} from '../../../src/kv/upgrade/plan-kind.ts';
import { isRefusal, planFrom } from '../../../src/kv/upgrade/plan.ts';
import type { ClusterFile, Plan, UpgradePath } from '../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';
import { partlyMade } from '../../support/context.ts';

const server = (minor: string): string => `/opt/${minor}/etcd`;
const row = (minor: string) => ({ binary: server(minor) });
const three: ClusterFile = {
  ...clusterFile(2),
  members: ['n1', 'n2'].map((name, i) => ({
    name,
    client_url: `http://127.0.0.1:${i + 1}`,
    old_command: [server('3.2'), '--name', name],
    new_command: [server('3.3'), '--name', name],
  })),
};
const table = (...minors: string[]): ClusterFile['versions'] =>
  Object.fromEntries(minors.map((minor) => [minor, row(minor)]));

describe('an upgrade over several minor versions', () => {
  it('lists every minor version up to the target and no version for a target that is not newer', () => {
    expect(minorsBetween('3.2', '3.6')).toEqual(['3.3', '3.4', '3.5', '3.6']);
    expect(minorsBetween('3.5', '3.6')).toEqual(['3.6']);
    expect(minorsBetween('3.6', '3.4')).toEqual([]);
    expect(minorsBetween('3.4', '3.4')).toEqual([]);
  });
  it('uses the row of the version, and the row of the member before the row of the cluster', () => {
    const cluster = {
      ...three,
      versions: { '3.4': { ...row('3.4'), ctl_binary: '/opt/3.4/ctl' }, '3.5': row('3.5') },
      members: three.members.map((spec) =>
        spec.name === 'n2' ? { ...spec, versions: { '3.5': { command: ['/other', '--name', 'n2'] } } } : spec,
      ),
    } satisfies ClusterFile;
    const view = hopView(cluster, '3.4', '3.5');
    expect(view.ctl_binary).toBe('/opt/3.4/ctl');
    expect(view.members.map(({ old_command, new_command }) => [old_command, new_command])).toEqual([
      [
        [server('3.4'), '--name', 'n1'],
        [server('3.5'), '--name', 'n1'],
      ],
      [
        [server('3.4'), '--name', 'n2'],
        ['/other', '--name', 'n2'],
      ],
    ]);
    // The plan of a hop selects the same view on a resume and on a rollback.
    expect(viewFor(cluster, { from: '3.4', to: '3.5', options: {} })).toEqual(view);
    expect(viewFor(three, { from: '3.2', to: '3.3', options: {} })).toEqual(three);
  });
  it('names each missing version, and the members that miss it', () => {
    const partly = {
      ...three,
      to: '3.3',
      versions: table('3.6'),
      members: three.members.map((spec) =>
        spec.name === 'n1' ? { ...spec, versions: { '3.4': row('3.4') } } : spec,
      ),
    } satisfies ClusterFile;
    const targets = minorsBetween('3.2', '3.6');
    expect(missingRows(partly, targets)).toEqual(['versions."3.4" of n2', 'versions."3.5"']);
    expect(pathFrom(partly, '3.2', '3.6', 60)).toBeUndefined();
    // Without `to`, the new programs of the file belong to the last version.
    expect(missingRows(three, targets)).toEqual(['versions."3.3"', 'versions."3.4"', 'versions."3.5"']);
  });
  it('shows every hop with its program and its point of no return, and continues until the last version', () => {
    const cluster = { ...three, versions: table('3.3', '3.4', '3.5') };
    const path = pathFrom(cluster, '3.2', '3.5', 90) as UpgradePath;
    expect(path.hops.map(({ from, to, programs }) => [from, to, programs['n1']])).toEqual([
      ['3.2', '3.3', server('3.3')],
      ['3.3', '3.4', server('3.4')],
      ['3.4', '3.5', server('3.5')],
    ]);
    const plan = (to: '3.3' | '3.4' | '3.5') =>
      partlyMade<Plan>({ from: '3.3', to, options: { ...planOptions(), path } });
    expect([nextHopOf(plan('3.3')), nextHopOf(plan('3.4')), nextHopOf(plan('3.5'))]).toEqual([
      '3.4',
      '3.5',
      undefined,
    ]);
    expect(nextHopOf({ to: '3.3', options: planOptions() })).toBeUndefined();
    const lines = pathLines(plan('3.4'));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toContain('3.2 → 3.3 → 3.4 → 3.5');
    expect(lines.slice(1).map((line) => /\((.*?)\)/.exec(line)?.[1])).toEqual([
      'done',
      'this plan',
      naming('3.4', 'planned'),
    ]);
    expect(lines.slice(1).every((line) => line.includes('point of no return'))).toBe(true);
  });
  it('a rehearsal knows the program of the last version, which only the file names', () => {
    const cluster = { ...three, versions: table('3.3', '3.4') };
    const path = pathFrom(cluster, '3.2', '3.5', 1);
    const view = withTable(hopView(cluster, '3.2', '3.3'), cluster, path);
    expect(Object.keys(view.members[0]?.versions ?? {})).toEqual(['3.3', '3.4', '3.5']);
    expect(view.members[0]?.versions?.['3.5']?.command).toEqual(three.members[0]?.new_command);
  });
});

describe('the plan of the first hop', () => {
  const cluster = clusterFile(3, { versions: table('3.4', '3.5') });
  const path = pathFrom(cluster, '3.3', '3.5', 60) as UpgradePath;
  const made = (options: object, later_programs = [{ member: 'n1', to: '3.5', version: '3.5.16' }]) =>
    planFrom({
      observation: observed(undefined, { later_programs } as never),
      cluster,
      options: { ...planOptions(), to: '3.4', ...options },
      describe: () => [],
      id: 'r',
    });
  it('has another digest for another path, program or soak time', () => {
    const digests = [path, { ...path, soak_seconds: 61 }, undefined].map(
      (one) => (made(one === undefined ? {} : { path: one }) as Plan).digest,
    );
    expect(new Set(digests).size).toBe(3);
    expect(made({ path })).toMatchObject({ digest: digests[0] });
  });
  it('is refused if the program of a later version has another version or cannot start', () => {
    for (const [later, said] of [
      [{ member: 'n2', to: '3.5', version: '3.4.23' }, 'n2: the program for 3.5 has version 3.4.23'],
      [{ member: 'n2', to: '3.5', error: 'no such file' }, 'no such file'],
    ] as const) {
      const refusal = made({ path }, [later as never]);
      if (!isRefusal(refusal)) throw new Error('not refused');
      expect(refusal.refused.map(({ guard }) => guard)).toEqual(['binaries-are-right']);
      expect(refusal.refused[0]?.message).toContain(said);
    }
  });
  it('without the programs, the refusal names the keys that are missing', () => {
    const refusal = planFrom({
      observation: observed(),
      cluster: clusterFile(3, { versions: table('3.4'), to: '3.4' }),
      options: { ...planOptions(), to: '3.6' },
      describe: () => [],
      id: 'r',
    });
    if (!isRefusal(refusal)) throw new Error('not refused');
    const finding = refusal.refused.find(({ guard }) => guard === 'version-path');
    expect(finding?.hint).toContain('versions."3.5", versions."3.6"');
  });
});

describe('the table of versions in the cluster file', () => {
  const content = (versions: unknown, member: object = {}) => ({
    name: 'c',
    versions,
    members: [{ name: 'n1', client_url: 'http://h:1', pid_file: 'p', log_file: 'l', ...member }],
  });
  it('replaces the old and the new program of a member', () => {
    expect(clusterProblems(content({ '3.4': row('3.4') }))).toEqual([]);
    expect(clusterProblems(content(undefined)).map(({ path }) => path)).toEqual([
      'members[0].old_command',
      'members[0].new_command',
    ]);
  });
  it.each([
    [{ '3.9': row('3.9') }, 'versions.3.9'],
    [{ '3.4': { binary: '-x' } }, 'versions.3.4.binary'],
    [{ '3.4': { programme: '/x' } }, 'versions.3.4.programme'],
    [{ '3.4': { command: '"open' } }, 'versions.3.4.command'],
  ])('rejects %j', (versions, path) => {
    expect(clusterProblems(content(versions)).map((one) => one.path)).toEqual([path]);
    const own = clusterProblems(content({ '3.4': row('3.4') }, { versions }));
    expect(own.map((one) => one.path)).toEqual([`members[0].${path}`]);
  });
});

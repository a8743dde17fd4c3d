import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProcessRecord } from '../../../../src/kv/upgrade/supervisors/process-record.ts';
import {
  identityFor,
  launchWords,
  missingProblems,
  missingScript,
  recordProblems,
  type Starter,
  startWords,
} from '../../../../src/kv/upgrade/supervisors/successor.ts';
import type { MemberSpec, Placement } from '../../../../src/kv/engine/model.ts';
import { testInDirectory } from '../../../support/test-in-directory.ts';
import { naming } from '../../../support/facts.ts';

const seen = { pid: 1, paths: ['/data'], programs: [] };
const member: MemberSpec = {
  ...{ name: 'n1', client_url: 'http://h:2379', pid_file: '/run/n1.pid' },
  ...{ old_command: ['/old/etcd', '--name', 'n1'], new_command: ['/new/etcd', '--name', 'n1'] },
};
const all = '1ffffffffff';
const sets = (own: Partial<Record<'effective' | 'bounding' | 'inheritable' | 'ambient', string>> = {}) => ({
  ...{ effective: all, bounding: all, inheritable: '0', ambient: '0' },
  ...own,
});
const root: Starter = {
  ...{ uid: 0, gid: 0, groups: [0], nice: 0, oom_score_adj: 0, cpus: '0-3', seccomp: 0, root: '/' },
  ...{
    limits: { nofile: '1024:4096' },
    cgroups: ['/own'],
    namespaces: { net: 'net:[1]', mnt: 'mnt:[1]', uts: 'uts:[1]' },
  },
  ...{ capabilities: sets(), no_new_privs: false, scheduling: { policy: 0, priority: 0 } },
};
const user: Starter = { ...root, uid: 5, gid: 5, groups: [5], capabilities: sets({ effective: '0' }) };
const record = (patch: Partial<ProcessRecord> = {}, own: Starter = root): ProcessRecord => ({
  ...own,
  ...{ env: {}, args: ['/old/etcd', '--name', 'n1'], cwd: '/' },
  ...patch,
});
const placement: Placement = { member: 'n1', previous: { minor: '3.4' }, next: { minor: '3.5' } };

describe('missing properties of a successor', () => {
  it.each<[string, Partial<ProcessRecord>, Starter, RegExp | undefined]>([
    ['nothing', {}, user, undefined],
    ['a group', { groups: [5, 7] }, user, /groups 5,7.*root/],
    ['a group that root can set', { groups: [5, 7] }, root, undefined],
    ['a limit', { limits: { nofile: '9:8192' } }, user, /nofile=9:8192/],
    ['a limit that root can set', { limits: { nofile: '9:8192' } }, root, undefined],
    ['a nice value', { nice: -5 }, user, /nice value -5/],
    ['a nice value that everybody can set', { nice: 5 }, user, undefined],
    ['oom_score_adj', { oom_score_adj: -900 }, user, /oom_score_adj -900/],
    ['a real-time policy', { scheduling: { policy: 1, priority: 9 } }, user, /scheduling policy 1/],
    ['a real-time I/O priority', { io_priority: 'realtime: prio 4' }, user, /realtime: prio 4.*root/],
    ['a real-time I/O priority that root can set', { io_priority: 'realtime: prio 4' }, root, undefined],
    ['an I/O priority that everybody can set', { io_priority: 'best-effort: prio 6' }, user, undefined],
    ['a policy that chrt does not know', { scheduling: { policy: 6, priority: 0 } }, root, /policy 6/],
    ['capabilities', { capabilities: sets({ bounding: '3ffffffffff' }) }, root, /cap_41/],
    ['ambient capabilities', { capabilities: sets({ ambient: '400' }) }, user, /only root can set/],
    ['ambient capabilities that root can set', { capabilities: sets({ ambient: '400' }) }, root, undefined],
    ['a network', { namespaces: { net: 'net:[2]', mnt: 'mnt:[1]' } }, root, /namespaces \(net\).*systemd/],
    ['a root directory', { root: '/jail' }, root, /root directory \/jail/],
    ['a filter', { seccomp: 2 }, root, /seccomp/],
    ['a deleted directory', { cwd: '/gone (deleted)' }, root, /working directory \/gone was deleted/],
    ['two users', { has_mixed_ids: true }, root, /real user/],
    ['the group of a unit', { cgroups: ['/system.slice/etcd.service'] }, root, /unit: etcd.service/],
    ['the group of a session', { cgroups: ['/user.slice/session-3.scope'] }, root, undefined],
    ['a group that stays', { cgroups: ['/limited'] }, root, undefined],
    ['a variable', { env: { 'BASH_FUNC_x%%': '()' } }, root, /BASH_FUNC_x%%/],
  ])('names %s', (_, patch, own, wanted) => {
    const problems = recordProblems({ record: record(patch, own) }, own);
    if (wanted === undefined) expect(problems).toEqual([]);
    else expect(problems.join('\n')).toMatch(wanted);
    expect(problems).toHaveLength(wanted === undefined ? 0 : 1);
  });
  it('all properties are missing if the environment cannot be read', () => {
    expect(recordProblems({ problem: 'cannot be read' }, root)).toEqual(['cannot be read']);
    expect(recordProblems({}, root)).toEqual([]);
  });
  it('includes programs and control groups that its host lacks', () => {
    const found = { record: record({ cgroups: ['/limited'], cpus: '0', nice: 3, uid: 7, gid: 7 }) };
    const script = String(missingScript(found, root, seen));
    for (const part of ['taskset', 'renice', 'setpriv', '/limited']) expect(script).toContain(part);
    expect(missingScript({ record: record() }, root, seen)).toBeUndefined();
    expect(missingProblems('x\nmissing=the program taskset\n')).toHaveLength(1);
  });
  testInDirectory(
    'includes the files of a mount namespace of its own that a successor would find elsewhere',
    async ({ directory }) => {
      const other = { record: record({ namespaces: { net: 'net:[1]', mnt: 'mnt:[2]', uts: 'uts:[2]' } }) };
      expect(recordProblems(other, root)).toEqual([]);
      const ask = (pid: number, paths: string[]): string[] => {
        const script = String(missingScript(other, root, { pid, paths, programs: [] }));
        return missingProblems(execFileSync('sh', ['-c', script], { encoding: 'utf8' }));
      };
      expect(ask(process.pid, [directory, join(directory, 'neither here nor there')])).toEqual([]);
      expect(ask(2 ** 30, [directory])).toEqual([expect.stringContaining(directory)]);
    },
  );
});

describe('the programs of a successor', () => {
  /** Runs the check with a setpriv that becomes no other user. */
  const ask = (directory: string, setpriv: string, path: string): string[] => {
    writeFileSync(
      join(directory, 'setpriv'),
      `#!/bin/sh\n[ "$1" = --help ] && echo --reuid && exit\n${setpriv}\n`,
    );
    chmodSync(join(directory, 'setpriv'), 0o755);
    const found = { record: record({ uid: 7, gid: 7 }) };
    const script = String(missingScript(found, root, { pid: 1, paths: [], programs: [path] }));
    const env = { ...process.env, PATH: `${directory}:${process.env['PATH']}` };
    return missingProblems(execFileSync('sh', ['-c', script], { encoding: 'utf8', env }));
  };
  const run = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"';
  testInDirectory('must be executable by the user of the process', ({ directory }) => {
    const [closed, open] = [join(directory, "a closed 'server"), join(directory, 'open')];
    writeFileSync(closed, '', { mode: 0o600 });
    writeFileSync(open, '', { mode: 0o755 });
    expect(ask(directory, run, closed)).toEqual([naming(closed)]);
    expect(ask(directory, run, open)).toEqual([]);
    expect(ask(directory, run, join(directory, 'missing'))).toEqual([]);
    // Without a result of setpriv nothing is known about the program.
    expect(ask(directory, 'exit 1', closed)).toEqual([]);
  });
});

describe('the start of a successor', () => {
  const words = (patch: Partial<ProcessRecord>, own: Starter = root) => {
    const kept = record(patch);
    return launchWords(member, ['/new'], identityFor(kept, undefined, undefined), own, kept);
  };
  it('runs no program for what it has already', () => {
    const [, script, ...rest] = words({});
    expect(script).not.toMatch(/prlimit|renice|taskset|chrt|cgroup|oom_score_adj|ionice/);
    expect(rest).toEqual(['sh', '/run/n1.pid', '/', '/new']);
  });
  it.each<[string, string | undefined]>([
    ['best-effort: prio 6', 'ionice -c 2 -n 6 -p'],
    ['realtime: prio 0', 'ionice -c 1 -n 0 -p'],
    ['idle', 'ionice -c 3 '],
    ['none: prio 0', undefined],
    ['', undefined],
    ['a class of a later kernel: prio 3', undefined],
  ])('sets the I/O priority %j', (io_priority, wanted) => {
    const [, script] = words({ io_priority });
    if (wanted === undefined) expect(script).not.toContain('ionice');
    else expect(script?.replaceAll("'", '')).toContain(wanted);
  });
  it.each<[Partial<ProcessRecord>, string]>([
    [{ limits: { nofile: '65536:65536' } }, 'prlimit --pid "$$" --nofile=65536:65536'],
    [{ nice: -10 }, 'renice -n -10 -p'],
    [{ oom_score_adj: -997 }, 'echo -997 > '],
    [{ scheduling: { policy: 1, priority: 50 } }, 'chrt --fifo -p 50'],
    [{ scheduling: { policy: 2, priority: 1 } }, 'chrt --rr -p 1'],
    [{ scheduling: { policy: 3, priority: 0 } }, 'chrt --batch -p 0'],
    [{ scheduling: { policy: 5, priority: 0 } }, 'chrt --idle -p 0'],
    [{ cpus: '0-1' }, 'taskset -pc 0-1'],
    [{ umask: '0077' }, 'umask 0077'],
  ])('sets %j, whose text may start with a dash', (patch, wanted) => {
    const [, script] = words(patch);
    expect(script?.replaceAll("'", '')).toContain(wanted);
    // The check before the stop writes a script of the same record.
    const seen = { pid: 1, paths: [], programs: [] };
    expect(() => missingScript({ record: record(patch) }, root, seen)).not.toThrow();
  });
  it('sets groups of root, and capabilities', () => {
    expect(words({ groups: [] })).toContain('--clear-groups');
    expect(words({ groups: [0, 9] })).toContain('0,9');
    expect(words({ capabilities: sets({ bounding: '401' }) })).toContain(
      '--bounding-set=-all,+cap_0,+cap_10',
    );
    expect(words({ no_new_privs: true })).toContain('--no-new-privs');
  });
  it('prefers the process to the record of a stage, and that to the owner of the data', () => {
    const at = (uid: number) => ({ uid, gid: uid });
    const staged = { ...placement, runs_as: at(6) };
    expect(identityFor(record(at(5)), staged, at(7))).toMatchObject({ uid: 5, cwd: '/' });
    expect(identityFor({ env: {} }, staged, at(7))).toEqual(at(6));
    expect(identityFor(undefined, undefined, at(7))).toEqual(at(7));
    expect(identityFor(undefined, undefined, undefined)).toBeUndefined();
  });
  it('uses the arguments of the process only to return to its version', () => {
    const args = ['etcd', '--name', 'n1', '--debug'];
    const kept = record({ args });
    expect(startWords(member, 'old', placement, kept)).toEqual(['/old/etcd', '--name', 'n1', '--debug']);
    for (const [which, placed, known] of [
      ['new', placement, kept],
      ['old', undefined, kept],
      ['old', placement, record()],
      ['old', placement, record({ args: ['/bin/sh', 'run.sh'] })],
      ['old', placement, record({ args: [...args, '--force-new-cluster'] })],
    ] as const)
      expect(startWords(member, which, placed, known)).toEqual(member[`${which}_command`]);
  });
});

/** The scripts for a member's host, without a real host. */
import { describe, expect, it } from 'vitest';
import {
  buildDirectory,
  isSiblingPath,
  findCtlFor,
  findRestoreProblem,
  refuseWrongCtl,
  type RestorePlan,
  type RestoreStep,
  swapDirectory,
} from '../../../../src/kv/upgrade/restore/plan.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import type { AppError } from '../../../../src/core/problem.ts';
import type { Shell } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import { naming } from '../../../support/facts.ts';
import { partlyMade } from '../../../support/context.ts';

const member = { name: 'n1', client_url: 'http://n1', data_dir: '/data/n1' };
const step: RestoreStep = { name: 'n1', aside: '/data/n1.before-restore-R', words: ['--name', 'n1'] };
const plan = partlyMade<RestorePlan>({
  ctl: '/bin/ctl',
  to: '3.4',
  snapshot: { path: '/s.db' },
});
/** A shell that returns this result and records its scripts. */
const shellThat = (done: Partial<Finished>, where = 'here') => {
  const [scripts, options]: [string[], unknown[]] = [[], []];
  const sent: string[] = [];
  const shell: Shell = {
    where,
    display: (command) => command,
    send: async (from, to) => {
      sent.push(`${from} to ${to}`);
      return { path: '/sent.db', remove: async () => void sent.push('removed') };
    },
    run: async (script, given) => {
      scripts.push(String(script));
      options.push(given);
      return { code: 0, signal: null, stdout: '', stderr: '', timedOut: false, ...done };
    },
  };
  return { shell, scripts, options, sent };
};
const refused = (done: Partial<Finished>, where?: string) =>
  refuseWrongCtl(shellThat(done, where).shell, { ctl: '/bin/ctl', to: '3.4' }).then(
    () => 'taken',
    (error: Error) => error.message,
  );

describe('the ctl program', () => {
  it('the ctl program has the restored version, on either output stream', async () => {
    expect(await refused({ stdout: 'etcdctl version: 3.4.45' })).toBe('taken');
    expect(await refused({ stderr: 'etcdctl version: 3.4.1' })).toBe('taken');
    expect(await refused({ stdout: 'etcdctl version: 3.5.1' })).toEqual(
      naming('changes', 'made', 'ctl program', '3.5.1', '3.4'),
    );
    expect(await refused({ stdout: 'etcdctl version: 3.5.1' }, 'host7')).toEqual(
      naming('ctl program', 'host7', '3.5.1', '3.4'),
    );
    expect(await refused({ stderr: 'not found\nmore' })).toEqual(
      naming('changes', 'made', 'ctl program', '3.4', 'not found'),
    );
  });
  it.each(['3.6.14', '3.7.1'])('an etcdctl of %s cannot restore, and etcdutl can', async (version) => {
    const to = version.slice(0, 3) as Minor;
    const refusal = (tool: string) =>
      refuseWrongCtl(shellThat({ stdout: `${tool} version: ${version}\nAPI version: 3` }).shell, {
        ctl: '/bin/etcdctl',
        to,
      }).then(
        () => undefined,
        (error: AppError) => [error.detail.code, String(error.detail.tryThis?.[0])],
      );
    expect(await refusal('etcdctl')).toEqual(['WRONG_CTL', naming('ctl_binary', '/bin/etcdutl', to)]);
    expect(await refusal('etcdutl')).toBeUndefined();
  });
  it('a version call that was cut is repeated once, then named', async () => {
    expect(await refused({ code: null })).toEqual(naming('ctl program', 'printed no version'));
    const { shell } = shellThat({ stdout: 'etcdctl version: 3.4.45' });
    let calls = 0;
    const cutOnce: Shell = {
      ...shell,
      run: async (...asked) => {
        calls += 1;
        const done = await shell.run(...asked);
        return calls === 1 ? { ...done, code: 255, stdout: '' } : done;
      },
    };
    await refuseWrongCtl(cutOnce, { ctl: '/bin/ctl', to: '3.4' });
    expect(calls).toBe(2);
  });
});

it('findCtlFor returns the first program that has the version on every host', async () => {
  const versions: Record<string, string[]> = {
    a: ['3.4.45', '3.4.45'],
    b: ['3.5.1', '3.4.1'],
    c: ['3.5.1', '3.5.2'],
  };
  const shells = [0, 1].map((at) => {
    const { shell } = shellThat({});
    const run: Shell['run'] = async (script, ...more) => {
      const [, name = ''] = /trusted (?:\S*\/)?([abc])\b/.exec(String(script)) ?? [];
      return { ...(await shell.run(script, ...more)), stdout: `etcdctl version: ${versions[name]?.[at]}` };
    };
    return { ...shell, run };
  });
  const programs = ['/bin/a', '/bin/b', '/bin/c'];
  expect(await findCtlFor(shells, programs, '3.5')).toBe('/bin/c');
  expect(await findCtlFor(shells, programs, '3.4')).toBe('/bin/a');
  expect(await findCtlFor(shells, programs.slice(0, 2), '3.5')).toBeUndefined();
});
it('a failed restore check keeps the fix of its error', async () => {
  const { shell } = shellThat({ stdout: 'etcdctl version: 3.5.1' });
  const wanted = { to: '3.4', host: undefined } as const;
  const found = await findRestoreProblem(shell, { ctl_binary: '/bin/ctl' }, member, wanted);
  expect([found.problem, found.hint]).toEqual([naming('3.5.1', '3.4'), naming('ctl_binary', '3.4')]);
});

describe('a new directory', () => {
  it('a new directory is built from the snapshot that was sent there and then removed', async () => {
    const { shell, scripts, options, sent } = shellThat({});
    await buildDirectory(shell, plan, step, member);
    expect(sent).toEqual(['/s.db to /data/n1.snapshot', 'removed']);
    expect(scripts[0]).toContain(
      '/bin/ctl snapshot restore /sent.db --name n1 --data-dir "$B.restoring" >&2',
    );
    expect(options).toEqual([{ timeoutMs: 3_600_000 }]);
  });
  it.each([
    [{ code: 9, stderr: 'first\nno room\n' }, 'no room'],
    [{ code: null, startError: 'no ssh' }, 'no ssh'],
    [{ code: 1 }, 'code 1'],
  ])(
    'a directory that cannot be built stops no member, and leaves no snapshot there: %j',
    async (done, reason) => {
      const { shell, sent } = shellThat(done);
      await expect(buildDirectory(shell, plan, step, member)).rejects.toMatchObject({
        ...{ category: 'unsafe', detail: { code: 'RESTORE_FAILED' } },
        message: naming('stopped', 'n1', reason, 'member', 'directory'),
      });
      expect(sent.at(-1)).toBe('removed');
    },
  );
  it('a connection that ends during the build leaves no snapshot there', async () => {
    const { shell, sent } = shellThat({});
    const run = () => Promise.reject(new Error('cut'));
    await expect(buildDirectory({ ...shell, run }, plan, step, member)).rejects.toThrow('cut');
    expect(sent.at(-1)).toBe('removed');
  });
  it('a new directory is detected next to the present one', async () => {
    const built = shellThat({});
    expect(await isSiblingPath(built.shell, member)).toBe(true);
    expect(built.scripts[0]).toMatch(/^\[ -d '\/data\/n1\.restoring' \]/);
    expect(await isSiblingPath(shellThat({ code: 1 }).shell, member)).toBe(false);
  });
});

describe('a swap', () => {
  it('a swap reports where the previous directory is kept', async () => {
    const { shell, options } = shellThat({ stdout: '/data/n1.before-restore-R.2' });
    expect(await swapDirectory(shell, step, member, [])).toBe('/data/n1.before-restore-R.2');
    expect(options).toEqual([{ timeoutMs: 60_000 }]);
  });
  it('a failed swap reports the reason, and the fix for stopped members', async () => {
    await expect(
      swapDirectory(shellThat({ code: 1, stderr: 'a\nbusy\n' }).shell, step, member, []),
    ).rejects.toMatchObject({
      ...{ category: 'stopped', message: 'n1: its data directory could not be changed: busy' },
      detail: { code: 'RESTORE_STOPPED' },
    });
  });
});

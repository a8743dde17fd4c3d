/**
 * Services start the new version like the running version. opsctl reads the command line, the variables and
 * the file from the process.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sh } from '../../../../src/core/shell.ts';
import { factsFrom, factsScript } from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import type { Service } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { HostFacts, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { makeDirectory } from '../../../support/directory.ts';

let directory = '';
let child: ChildProcess | undefined;
beforeEach(() => {
  directory = makeDirectory();
  copyFileSync(process.execPath, join(directory, 'etcd-test'));
  writeFileSync(join(directory, 'wait.mjs'), 'setInterval(() => {}, 1000); console.log("up");');
});
afterEach(() => {
  child?.kill('SIGKILL');
});

const started = async (command: string, words: string[], env: Record<string, string> = {}): Promise<void> => {
  child = spawn(command, words, {
    cwd: directory,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => child?.stdout?.once('data', resolve));
};
const member: MemberSpec = { name: 'n1', client_url: 'http://127.0.0.1:1' };
const facts = async (
  pid: number | undefined,
  spec: Partial<MemberSpec> = {},
  more: Partial<Service> = {},
): Promise<HostFacts> => {
  const service = {
    ...more,
    version: () => undefined,
    ...(pid === undefined ? {} : { pid: () => sh`echo ${pid}` }),
  } as unknown as Service;
  const text = execFileSync('/bin/sh', ['-c', String(factsScript(service, { ...member, ...spec }, false))], {
    encoding: 'utf8',
  });
  return factsFrom(
    text,
    { ...member, ...spec },
    { fromMs: Date.now(), untilMs: Date.now() },
    { state: 'unknown', reason: '' },
  );
};

describe('the process of a service', () => {
  it('shows its words, the variables of a server, and the file that they name', async () => {
    writeFileSync(join(directory, 'c.yml'), 'name: n1\n');
    await started(join(directory, 'etcd-test'), ['wait.mjs', '--config-file', 'c.yml', '--name=a b'], {
      ETCD_CA_FILE: '/ca',
      SECRET: 'x',
    });
    const found = await facts(child?.pid);
    expect(found.command?.slice(1)).toEqual(['wait.mjs', '--config-file', 'c.yml', '--name=a b']);
    expect(found.environment).toEqual({ ETCD_CA_FILE: '/ca' });
    expect(found.config).toEqual({ name: 'n1' });
    expect(found.command_error).toBeUndefined();
  });
  it('names the files of the service manager that changed after its start', async () => {
    const [old, changed] = [join(directory, 'old.env'), join(directory, 'a changed.env')];
    for (const path of [old, changed]) writeFileSync(path, 'ETCD_NAME=n1\n');
    await started(join(directory, 'etcd-test'), ['wait.mjs']);
    const hour = Date.now() / 1000 + 3600;
    utimesSync(changed, hour, hour);
    const startFiles = () => sh`printf '%s\\n' ${old} ${join(directory, '*changed.env')} /missing`;
    const found = (await facts(child?.pid, {}, { startFiles })).changed_files;
    expect(found?.map(({ path }) => path)).toEqual([changed]);
    expect((await facts(child?.pid)).changed_files).toBeUndefined();
  });
  it('a configuration file that changed after its process read it is a fact with both times', async () => {
    const path = join(directory, 'c.yml');
    writeFileSync(path, 'name: n1\n');
    await started(join(directory, 'etcd-test'), ['wait.mjs', '--config-file', 'c.yml']);
    expect((await facts(child?.pid)).changed_files).toBeUndefined();
    utimesSync(path, Date.now() / 1000 + 3600, Date.now() / 1000 + 3600);
    const [found] = (await facts(child?.pid)).changed_files ?? [];
    expect(found).toMatchObject({ path: 'c.yml', is_config: true });
    expect(Date.parse(found?.changed_at ?? '') - Date.parse(found?.started_at ?? '')).toBeGreaterThan(
      3_000_000,
    );
  });
  it('a file of the cluster file counts before the one of the command line', async () => {
    writeFileSync(join(directory, 'd.yml'), 'name: d\n');
    await started(join(directory, 'etcd-test'), ['wait.mjs', '--config-file=missing.yml']);
    expect((await facts(child?.pid, { config_file: join(directory, 'd.yml') })).config).toEqual({
      name: 'd',
    });
    expect((await facts(child?.pid)).config_error).toContain('missing.yml');
  });
  it('a variable can name the file', async () => {
    writeFileSync(join(directory, 'c.yml'), 'name: n1\n');
    await started(join(directory, 'etcd-test'), ['wait.mjs'], { ETCD_CONFIG_FILE: join(directory, 'c.yml') });
    expect(await facts(child?.pid)).toMatchObject({ config: { name: 'n1' }, is_config_of_variable: true });
  });
  it('a file of the command line counts before the one of the variable', async () => {
    writeFileSync(join(directory, 'c.yml'), 'name: n1\n');
    const missing = { ETCD_CONFIG_FILE: join(directory, 'missing.yml') };
    await started(join(directory, 'etcd-test'), ['wait.mjs', '--config-file=c.yml'], missing);
    const found = await facts(child?.pid);
    expect(found).toMatchObject({ config: { name: 'n1' } });
    expect(found.is_config_of_variable).toBeUndefined();
  });
  it('the process is found below the shell that started it', async () => {
    const run = join(directory, 'run.sh');
    writeFileSync(run, '#!/bin/sh\nsleep 30 >/dev/null &\n./etcd-test wait.mjs --ca-file=x; kill $!\n');
    chmodSync(run, 0o755);
    await started(run, []);
    expect((await facts(child?.pid)).command).toEqual(['./etcd-test', 'wait.mjs', '--ca-file=x']);
    // The shell stops its other child after the server has exited.
    const server = execFileSync('/bin/sh', ['-c', `cat /proc/${child?.pid}/task/*/children`], {
      encoding: 'utf8',
    });
    for (const pid of server.trim().split(' ')) process.kill(Number(pid), 'SIGKILL');
  });
  it('a shell without a server below it is not read as one', async () => {
    await started('/bin/sh', ['-c', 'echo up; sleep 5; true']);
    const found = await facts(child?.pid);
    expect(found.command).toBeUndefined();
    expect(found.command_error).toMatch(/^no server was found below process \d+$/);
  });
  it('a missing process, or an invisible one, has no command line', async () => {
    expect(await facts(0)).toMatchObject({ command_error: 'its process was not found' });
    expect((await facts(undefined)).command).toBeUndefined();
  });
});

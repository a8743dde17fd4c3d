import { trustCall } from '../../../../src/core/program-call.ts';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import {
  memberProcess,
  processesOf,
  unnamedServer,
} from '../../../../src/kv/upgrade/supervisors/member-process.ts';
import { localProcesses } from '../../../../src/kv/upgrade/supervisors/process-record.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { hangTimer, serviceHangMs } from '../../../support/hang.ts';
import { patient, realHost, type RealHost } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';

let real: RealHost;
const alive = new Set<number>();
beforeEach(async () => {
  real = patient(await realHost());
});
afterEach(() => {
  for (const pid of alive) if (real.host.processes.isAlive(pid)) real.host.processes.signal(pid, 'SIGKILL');
  alive.clear();
});

const at = (name: string): string => join(real.directory, name);
const script = (name: string, body: string): string => {
  writeFileSync(at(name), `#!/bin/sh\n${body}\n`);
  chmodSync(at(name), 0o755);
  return at(name);
};
/** A server program that writes `NAME.up` into its data directory and exits on request. */
const serverWords = (data: string): string[] => {
  const [program, code] = [at('server'), at('server.cjs')];
  if (!existsSync(program)) {
    symlinkSync(process.execPath, program);
    writeFileSync(
      code,
      `const directory = process.argv[process.argv.indexOf('--data-dir') + 1]; require('node:fs').writeFileSync(directory + '/up', String(process.pid)); setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit(0));`,
    );
  }
  mkdirSync(at(data), { recursive: true });
  return [program, code, '--data-dir', at(data)];
};
const member = (name: string, more: Partial<MemberSpec> = {}): MemberSpec => {
  const words = serverWords(`${name}.data`);
  return {
    name,
    client_url: `http://127.0.0.1:${2379 + name.length}`,
    data_dir: at(`${name}.data`),
    pid_file: at(`${name}.pid`),
    log_file: at(`${name}.log`),
    old_binary: words[0] as string,
    new_binary: words[0] as string,
    old_command: words,
    new_command: words,
    ...more,
  };
};
const until = async <T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> => {
  for (const isHung = hangTimer(serviceHangMs); !isHung(); ) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await real.host.sleep(10);
  }
  throw new Error('it did not come');
};
/** Returns the pid of the server after it has set its traps. */
const serverOf = async ({ data_dir }: MemberSpec): Promise<number> => {
  const path = join(data_dir as string, 'up');
  const pid = await until(() =>
    existsSync(path) && readFileSync(path, 'utf8') !== '' ? Number(readFileSync(path, 'utf8')) : undefined,
  );
  alive.add(pid);
  return pid;
};
const started = async (words: readonly string[]): Promise<number> => {
  const { pid } = await real.host.processes.start(...trustCall([words[0] as string, ...words.slice(1)]), {
    detached: true,
  });
  alive.add(pid);
  return pid;
};
const driverOf = (spec: MemberSpec) => openDriver(real.host, { name: 'c', members: [spec] });

describe('the process that a pid file names', () => {
  it("a process on another member's data directory is never mistaken for this member", async () => {
    const [one, other] = [member('n1'), member('n2')];
    const pid = await started(other.old_command as string[]);
    await serverOf(other);
    writeFileSync(one.pid_file as string, `${pid}\n`);
    expect(await memberProcess(localProcesses(real.host), one)).toEqual({
      problem: expect.stringMatching(`^${one.pid_file} .*\\b${pid}\\b.*${other.data_dir}`),
    });
    const driver = await driverOf(one);
    await driver.stop(one, 1000);
    await driver.kill(one);
    expect(real.host.processes.isAlive(pid)).toBe(true);
  });

  it('a process may be started on the directory under another of its names', async () => {
    const spec = member('n1');
    symlinkSync(spec.data_dir as string, at('link'));
    const pid = await started([...(spec.old_command as string[]).slice(0, -1), at('link/')]);
    writeFileSync(spec.pid_file as string, String(pid));
    await until(
      async () => (await memberProcess(localProcesses(real.host), spec)).process?.pid === pid || undefined,
    );
    expect((await memberProcess(localProcesses(real.host), spec)).process?.pid).toBe(pid);
  });

  it('a suspended process is distinguished, and exits on request', covers('defect/U-54'), async () => {
    const spec = member('n1');
    const driver = await driverOf(spec);
    const { pid } = await driver.start(spec, 'old');
    await serverOf(spec);
    real.host.processes.signal(pid as number, 'SIGSTOP');
    await until(async () => (await driver.facts(spec, { sizes: false })).is_suspended);
    expect(await driver.stop(spec, 60_000)).toBe(true);
    expect(real.host.processes.isAlive(pid as number)).toBe(false);
  });

  it.each(['', 'junk', '0', '-5', '4194304'])('a pid file with %j names no process', async (text) => {
    const spec = member('n1');
    writeFileSync(spec.pid_file as string, text);
    expect(await memberProcess(localProcesses(real.host), spec)).toEqual({});
  });

  it('a directory in place of the pid file is a finding, not a crash', async () => {
    const spec = member('n1', { pid_file: real.directory });
    expect(await (await driverOf(spec)).facts(spec, { sizes: false })).toMatchObject({
      is_running: false,
      problems: [`pid_file ${real.directory} is a directory`],
    });
  });
});

describe('a server that a wrapper started', () => {
  it('ends with the shell that the pid file names', async () => {
    const spec = member('n1');
    const wrapper = script('wrap', '"$@"\necho over');
    const wrapped = { ...spec, old_command: [wrapper, ...(spec.old_command as string[])] };
    const driver = await driverOf(wrapped);
    const shell = (await driver.start(wrapped, 'old')).pid as number;
    const server = await serverOf(spec);
    expect(server).not.toBe(shell);
    expect((await processesOf(localProcesses(real.host), wrapped)).map(({ pid }) => pid)).toEqual([
      shell,
      server,
    ]);
    expect(await driver.stop(wrapped, 60_000)).toBe(true);
    expect([shell, server].map(real.host.processes.isAlive)).toEqual([false, false]);
  });

  it('a server started by an unrelated script is found below that script', async () => {
    const spec = member('n1');
    const shell = await started([script('boot', `${(spec.old_command as string[]).join(' ')}\necho over`)]);
    writeFileSync(spec.pid_file as string, String(shell));
    const server = await serverOf(spec);
    expect((await memberProcess(localProcesses(real.host), spec)).process?.pid).toBe(shell);
    expect(
      await memberProcess(localProcesses(real.host), {
        ...spec,
        data_dir: at('elsewhere'),
        client_url: 'http://127.0.0.1:1',
      }),
    ).toEqual({
      problem: expect.stringMatching(`^${spec.pid_file} .*\\b${shell}\\b.*\\bsh\\b`),
    });
    expect(await (await driverOf(spec)).stop(spec, 60_000)).toBe(true);
    expect([shell, server].map(real.host.processes.isAlive)).toEqual([false, false]);
  });

  it('a server in the background becomes the member, and its pid file names it', async () => {
    const spec = member('n1');
    const wrapper = script('wrap', '"$@" &');
    const wrapped = { ...spec, new_command: [wrapper, ...(spec.new_command as string[])] };
    const driver = await driverOf(wrapped);
    const { exited } = await driver.start(wrapped, 'new');
    const server = await serverOf(spec);
    expect((await unnamedServer(localProcesses(real.host), wrapped))?.pid).toBe(server);
    expect((await driver.process(wrapped)).state).toBe('running');
    await until(() => Number(readFileSync(spec.pid_file as string, 'utf8')) === server || undefined);
    expect(await Promise.race([exited, Promise.resolve('it runs')])).toBe('it runs');
    expect(await driver.stop(wrapped, 60_000)).toBe(true);
    expect(real.host.processes.isAlive(server)).toBe(false);
  });

  it('a server in the background continues if its pid file cannot be written', async () => {
    const spec = member('n1');
    const wrapper = script('wrap', '"$@" &');
    const wrapped = { ...spec, new_command: [wrapper, ...(spec.new_command as string[])] };
    let tries = 0;
    const replace = async (): Promise<never> => {
      tries += 1;
      throw new Error('ENOSPC: no space left on device');
    };
    const host = { ...real.host, files: { ...real.host.files, replace } };
    const driver = await openDriver(host, { name: 'c', members: [wrapped] });
    const { exited } = await driver.start(wrapped, 'new');
    const said = exited?.then(
      () => 'it ended',
      (error: Error) => error.message,
    );
    await serverOf(spec);
    await until(() => tries > 0 || undefined);
    expect(await Promise.race([said, real.host.sleep(200).then(() => 'it runs')])).toBe('it runs');
    expect((await driver.process(wrapped)).state).toBe('running');
    expect(await driver.stop(wrapped, 60_000)).toBe(true);
  });

  it('a server that exits immediately is reported with its exit code', async () => {
    const spec = member('n1', { new_command: [script('short', 'exit 0')] });
    const { exited } = await (await driverOf(spec)).start(spec, 'new');
    expect(await exited).toEqual({ code: 0, signal: null });
  });
});

it('a log that cannot be written keeps no member from its old version', async () => {
  const spec = member('n1', { log_file: join(at('nowhere'), 'n1.log') });
  const driver = await driverOf(spec);
  await expect(driver.start(spec, 'new')).rejects.toThrow(/ENOENT/);
  await driver.start(spec, 'old');
  await serverOf(spec);
  expect((await driver.process(spec)).state).toBe('running');
});

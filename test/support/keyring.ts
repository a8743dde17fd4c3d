/** Debian's gnome-keyring in a dedicated session bus: a real unlocked keychain that no other program shares. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
// @ts-expect-error plain JavaScript, shared with the tools
import { testCache } from '../tooling/cache.mjs';
import { makeDirectory } from './directory.ts';

const commands = ['dbus-daemon', 'gnome-keyring-daemon', 'secret-tool'] as const;
const places = [...(process.env.PATH ?? '').split(delimiter), join(testCache(process.env), 'bin')];
const find = (command: (typeof commands)[number]): string | undefined =>
  places.map((directory) => join(directory, command)).find((path) => existsSync(path));

/** Returns the reason why no keychain is available for the test. On CI, that is a failure. */
export const noKeyring = (): string | undefined => {
  if (process.platform !== 'linux') return 'the keychain of this test is one of Linux';
  const gone = commands.filter((command) => find(command) === undefined);
  if (gone.length === 0) return undefined;
  const why = `left out: ${gone.join(', ')} missing (node test/real/parts.mjs unpacks the Debian packages)`;
  if (process.env.OPSCTL_TEST_IN_CI === 'true') throw new Error(why);
  process.stderr.write(`${why}\n`);
  return why;
};

/** Without service directories, this bus starts no services of the machine. `isDenied` denies all access to the keychain. */
const busConfig = (directory: string, isDenied: boolean): string => `<busconfig><type>session</type>
<listen>unix:path=${directory}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
${isDenied ? '<deny send_destination="org.freedesktop.secrets"/>' : ''}</policy></busconfig>\n`;

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${child.spawnfile} ended with ${code}`)));
  });
const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });

export type Keyring = {
  /** Environment of the programs in this session. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs secret-tool, which shows the stored secrets as the desktop does. */
  secretTool(...args: string[]): { readonly status: number | null; readonly stdout: string };
  /** Restarts the bus and the keychain on the same files. Unlocks the keychain with its password unless `isLocked` is set. */
  restart(options?: { readonly isDenied?: boolean; readonly isLocked?: boolean }): Promise<void>;
  /** Stops the keychain. The bus continues to run. */
  stop(): Promise<void>;
  close(): Promise<void>;
};

export const keyring = async (): Promise<Keyring> => {
  const directory = makeDirectory('opsctl-keyring-');
  const env = {
    HOME: directory,
    XDG_RUNTIME_DIR: directory,
    XDG_DATA_HOME: join(directory, 'data'),
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${directory}/bus`,
    PATH: process.env.PATH ?? '',
  };
  mkdirSync(env.XDG_DATA_HOME);
  let running: ChildProcess[] = [];
  const begin = (command: (typeof commands)[number], args: readonly string[]): ChildProcess => {
    const child = spawn(find(command) ?? command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    running.unshift(child);
    return child;
  };
  const stopAll = async (): Promise<void> => {
    for (const child of running.splice(0)) await ended(child);
  };
  const restart: Keyring['restart'] = async ({ isDenied = false, isLocked = false } = {}) => {
    await stopAll();
    rmSync(join(directory, 'bus'), { force: true });
    writeFileSync(join(directory, 'bus.conf'), busConfig(directory, isDenied));
    const bus = begin('dbus-daemon', [
      `--config-file=${join(directory, 'bus.conf')}`,
      '--nofork',
      '--print-address',
    ]);
    await firstLine(bus);
    const control = join(directory, 'control');
    const daemon = begin('gnome-keyring-daemon', [
      '--foreground',
      ...(isLocked ? [] : ['--unlock']),
      '--components=secrets',
      `--control-directory=${control}`,
    ]);
    daemon.stdin?.end(isLocked ? '' : 'password of the test');
    await firstLine(daemon);
  };
  await restart();
  return {
    env,
    secretTool: (...args) => {
      const { status, stdout } = spawnSync(find('secret-tool') ?? '', args, { env, encoding: 'utf8' });
      return { status, stdout };
    },
    restart,
    stop: async () => {
      const [daemon] = running;
      running = running.slice(1);
      if (daemon !== undefined) await ended(daemon);
    },
    close: async () => {
      await stopAll();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

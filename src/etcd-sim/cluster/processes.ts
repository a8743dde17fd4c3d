import { storedObject } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import { type Rehearsal, type RehearsalMember, binaryPath, markerFile } from './layout.ts';

export type Which = 'old' | 'new';

const shape = {
  directory: 'text',
  options: { version: 'text', newVersion: 'text', word: 'text', members: 'number' },
  members: [
    { name: 'text', clientUrl: 'text', dataDir: 'text', pidFile: 'text', logFile: 'text', args: ['text'] },
  ],
} as const;

export const readRehearsal = async (host: Host, directory: string): Promise<Rehearsal | undefined> => {
  const text = await host.files.read(markerFile(directory));
  return text === undefined
    ? undefined
    : storedObject<Rehearsal>(markerFile(directory), text, shape, [
        `opsctl mock kv start --dir ${directory} --replace, after the directory was removed by hand`,
      ]);
};

/** The process of a member, as long as it is really this member's. */
export const pidOf = (host: Host, member: RehearsalMember): number | undefined => {
  const pid = Number.parseInt(host.files.readNow(member.pidFile) ?? '', 10);
  if (!(pid > 1) || !host.processes.isAlive(pid)) return undefined;
  const line = host.files.readNow(`/proc/${pid}/cmdline`);
  // Empty while the process becomes another program.
  return line === undefined ||
    line === '' ||
    line.includes(member.dataDir) ||
    (member.configFile !== undefined && line.includes(member.configFile))
    ? pid
    : undefined;
};

export const startProcess = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  which: Which,
): Promise<number> => {
  const { version, newVersion, word } = rehearsal.options;
  const binary = binaryPath(rehearsal.directory, which === 'old' ? version : newVersion, word);
  const started = await host.processes.start(binary, member.args, {
    detached: true,
    logFile: member.logFile,
    cwd: rehearsal.directory,
  });
  await host.files.replace(member.pidFile, `${started.pid}\n`);
  return started.pid;
};

const GRACE_MS = 5_000;
/** Ends a member: with SIGTERM, and with SIGKILL when it has not ended after the grace. */
export const stopProcess = async (
  host: Host,
  member: RehearsalMember,
): Promise<'stopped' | 'killed' | 'not running'> => {
  const pid = pidOf(host, member);
  if (pid === undefined) return 'not running';
  host.processes.signal(pid, 'SIGTERM');
  if (await ended(host, pid, GRACE_MS)) return 'stopped';
  host.processes.signal(pid, 'SIGKILL');
  await ended(host, pid, GRACE_MS);
  return 'killed';
};
const ended = async (host: Host, pid: number, withinMs: number): Promise<boolean> => {
  const until = host.elapsed() + withinMs;
  while (host.processes.isAlive(pid)) {
    if (host.elapsed() > until) return false;
    await host.sleep(10);
  }
  return true;
};

/** One JSON answer of a member; undefined when it does not answer. */
export const ask = async <T>(
  host: Host,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; data: T } | undefined> => {
  try {
    const request = {
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers,
      timeoutMs: 2_000,
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    const reply = await host.network.request(request);
    return { status: reply.status, data: JSON.parse(await reply.text()) as T };
  } catch {
    return undefined;
  }
};

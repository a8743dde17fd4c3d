import { basename } from 'node:path';
import { AppError } from '../../kernel/problem.ts';
import type { Host, Started } from '../../host/host.ts';
import { argvOf, shellLine } from '../command-line.ts';
import type { HostFacts, MemberSpec, StepKind } from '../types.ts';
import { versionInText } from './driver.ts';
import type { Driver, Which } from './driver.ts';
import { configFacts, folderFacts } from './folder-facts.ts';

const pollMs = 10;
const pidFileWithinMs = 1000;
const tailBytes = 256 * 1024;

/** The process id of the pid file, when that process runs and is this member. */
const runningPid = (host: Host, member: MemberSpec): { readonly pid?: number; readonly problem?: string } => {
  const text = member.pid_file === undefined ? undefined : host.files.readNow(member.pid_file);
  const pid = Number.parseInt(text ?? '', 10);
  if (!(pid > 1) || !host.processes.isAlive(pid)) return {};
  const cmdline = host.files.readNow(`/proc/${pid}/cmdline`);
  // Empty for the moment in which a process becomes another program: the shell that starts a member, its wrapper, the server.
  if (cmdline === undefined || cmdline === '') return { pid };
  const line = cmdline.split('\0');
  // A pid that was given to another program since must never be signalled.
  if (isOf(line, member)) return { pid };
  return { problem: `${member.pid_file} names process ${pid}, which is ${basename(line[0] ?? '?')} and not this member` };
};

const isOf = (words: readonly string[], member: MemberSpec): boolean => {
  const marks = [member.data_dir, member.client_url, member.config_file].filter((mark) => mark !== undefined);
  const commands = [argvOf(member.old_command, member.old_binary), argvOf(member.new_command, member.new_binary)];
  const names = commands.flatMap((command) => (command === undefined ? [] : [basename(command[0])]));
  return words.some((word) => marks.some((mark) => word.includes(mark)) || names.includes(basename(word)));
};

const binaryOf = (member: MemberSpec, which: Which): string | undefined =>
  member[`${which}_binary`] ?? argvOf(member[`${which}_command`], undefined)?.[0];

/** Version that a program says of itself with --version. */
export const binaryVersion = async (host: Host, binary: string | undefined): Promise<{ readonly version?: string; readonly error?: string }> => {
  if (binary === undefined) return { error: 'no binary is named' };
  const done = await host.processes.run(binary, ['--version'], { timeoutMs: 1500 });
  const version = versionInText(`${done.stdout}\n${done.stderr}`);
  if (done.startError !== undefined) return { error: `${binary} cannot be started: ${done.startError}` };
  if (version === undefined) return { error: `${binary} --version does not say a version${done.timedOut ? ' within 1.5 s' : ''}` };
  return { version };
};

export const localDriver = (host: Host): Driver => {
  const asking = new Map<string, ReturnType<typeof binaryVersion>>();
  // Members usually share a binary: one question at a time for each, and none is remembered, because a file can be replaced.
  const versionOf = (binary: string | undefined): ReturnType<typeof binaryVersion> => {
    const found = asking.get(binary ?? '') ?? binaryVersion(host, binary).finally(() => asking.delete(binary ?? ''));
    asking.set(binary ?? '', found);
    return found;
  };
  const pidOf = (member: MemberSpec): number | undefined => runningPid(host, member).pid;
  return {
    kind: 'local',
    facts: (member, { sizes }) => facts(host, member, sizes, versionOf),
    isRunning: async (member) => pidOf(member) !== undefined,
    stop: (member, graceMs) => stop(host, pidOf(member), graceMs),
    kill: async (member) => {
      const pid = pidOf(member);
      if (pid !== undefined) host.processes.signal(pid, 'SIGKILL');
      await ended(host, pid, 10_000);
    },
    start: (member, which) => start(host, member, which),
    copyData: (member, to) => copyData(host, member.data_dir as string, to),
    readConfig: async (member) => (member.config_file === undefined ? undefined : host.files.read(member.config_file)),
    writeConfig: async (member, text) => {
      const mode = (await host.files.info(member.config_file as string))?.mode;
      await host.files.replace(member.config_file as string, text, mode);
    },
    logTail: (member, lines) => logTail(host, member.log_file, lines),
    describe,
  };
};

/** Whole or not at all: half a copy would take the room that the member needs, and be taken for a copy. */
const copyData = async ({ files }: Host, from: string, to: string): Promise<void> => {
  const partial = `${to}.partial`;
  await files.remove(partial);
  try {
    await files.copy(from, partial);
    await files.remove(to);
    await files.rename(partial, to);
  } catch (error) {
    await files.remove(partial);
    throw error;
  }
};

const facts = async (
  host: Host,
  member: MemberSpec,
  sizes: boolean,
  versionOf: (binary: string | undefined) => ReturnType<typeof binaryVersion>,
): Promise<HostFacts> => {
  const { pid, problem } = runningPid(host, member);
  const [folder, fresh, old, config] = await Promise.all([
    folderFacts(host.files, member.data_dir, sizes).catch((error: unknown): HostFacts => ({ problems: [`data folder: ${String(error)}`] })),
    versionOf(binaryOf(member, 'new')),
    versionOf(binaryOf(member, 'old')),
    configFacts(host.files, member),
  ]);
  const owner = pid === undefined ? undefined : await host.files.info(`/proc/${pid}`);
  const data = member.data_dir === undefined ? undefined : await host.files.info(member.data_dir);
  const isOther = owner !== undefined && data !== undefined && owner.uid !== data.uid;
  return {
    is_running: pid !== undefined,
    ...(pid === undefined ? {} : { pid }),
    ...folder,
    ...(fresh.version === undefined ? { new_binary_error: fresh.error as string } : { new_binary_version: fresh.version }),
    ...(old.version === undefined ? {} : { old_binary_version: old.version }),
    ...(isOther ? { owner_mismatch: `the folder belongs to uid ${data.uid}, the process to uid ${owner.uid}` } : {}),
    ...config,
    clock_skew_ms: 0,
    ...(problem === undefined ? {} : { problems: [problem] }),
  };
};

const ended = async (host: Host, pid: number | undefined, withinMs: number): Promise<boolean> => {
  const end = host.elapsed() + withinMs;
  while (pid !== undefined && host.processes.isAlive(pid)) {
    if (host.elapsed() > end) return false;
    await host.sleep(pollMs);
  }
  return true;
};

const stop = async (host: Host, pid: number | undefined, graceMs: number): Promise<boolean> => {
  if (pid !== undefined) host.processes.signal(pid, 'SIGTERM');
  return ended(host, pid, graceMs);
};

const start = async (host: Host, member: MemberSpec, which: Which) => {
  const argv = argvOf(member[`${which}_command`], member[`${which}_binary`]);
  if (argv === undefined) throw new AppError('config', `member ${member.name} has no ${which}_command`, { code: 'CLUSTER_FILE' });
  const running = runningPid(host, member).pid;
  if (running !== undefined) throw new AppError('unsafe', `member ${member.name} runs already (process ${running})`, { code: 'ALREADY_RUNNING' });
  // The shell writes the pid file before it becomes the server: a crash of ours between the two leaves no process without one.
  const script = 'echo "$$" > "$1" && shift && exec "$@"';
  const started = await host.processes.start('/bin/sh', ['-c', script, 'sh', member.pid_file as string, ...argv], {
    env: member.env,
    detached: true,
    logFile: member.log_file,
  });
  const isWritten = (): boolean => Number.parseInt(host.files.readNow(member.pid_file as string) ?? '', 10) === started.pid;
  while (!isWritten() && host.processes.isAlive(started.pid)) await host.sleep(1);
  await pidFileWritten(host, member.pid_file as string, started);
  return { pid: started.pid, exited: started.exited };
};

/** Until the shell has written it the pid file still names the process before. */
const pidFileWritten = async (host: Host, path: string, started: Started): Promise<void> => {
  let isOver = false;
  const end = host.elapsed() + pidFileWithinMs;
  void started.exited.then(() => {
    isOver = true;
  });
  while (!isOver && host.elapsed() < end && host.files.readNow(path)?.trim() !== String(started.pid)) await host.sleep(1);
};

const logTail = async (host: Host, path: string | undefined, lines: number): Promise<readonly string[]> => {
  const info = path === undefined ? undefined : await host.files.info(path);
  if (path === undefined || info === undefined) return [];
  const chunks: Uint8Array[] = [];
  for await (const chunk of host.files.stream(path, Math.max(0, info.sizeBytes - tailBytes))) chunks.push(chunk);
  return Buffer.concat(chunks)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .slice(-lines);
};

const describe = (kind: StepKind, member: MemberSpec, which: Which): readonly string[] => {
  if (kind === 'stop') return [`kill -TERM "$(cat ${member.pid_file})"`];
  if (kind === 'copy-data') return [`cp -a ${member.data_dir} COPY`];
  if (kind !== 'start') return [];
  const argv = argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? [];
  return [`${shellLine(argv)} >> ${member.log_file} 2>&1 &`];
};

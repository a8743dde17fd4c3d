import { childPath, pathPart } from '../../core/file-name.ts';
import { type NextStep, next } from '../../core/next.ts';
import { cutText, AppError, awaitAll } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { shellWord } from '../../core/shell.ts';
import { storedObject, lossyText } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import { defaultMs, type Fault, faultFile, type FaultKind, formOf, readFaults } from '../forms.ts';
import type { StoredRecord } from '../state/command.ts';
import { identityOf, writeFirstLog } from './ctl.ts';
import {
  callMember,
  binaryPath,
  binaryText,
  binaryVersions,
  clusterText,
  ctlPath,
  ctlText,
  ctlTools,
  configText,
  faultsDirectory,
  markerFile,
  passwordFile,
  pidOf,
  readRehearsal,
  type Rehearsal,
  type RehearsalMember,
  rehearsalOf,
  type RehearsalOptions,
  startProcess,
  stopProcess,
} from './layout.ts';

/** Initial keys (rehearsal on a copy of real data). Without their history, its revisions are compacted. */
export type Content = {
  readonly revision: number;
  readonly keys: readonly StoredRecord[];
  readonly compacted?: number;
};
/** A command for the cluster in this directory, with its purpose. */
const mockCommand = (verb: string, directory: string, why: string): NextStep =>
  next(['mock', 'kv', verb, '--dir', shellWord(directory)], why);
const HEALTHY_WITHIN_MS = 60_000;
const clearDirectory = async (host: Host, directory: string, mayReplace: boolean): Promise<void> => {
  const before = await readRehearsal(host, directory);
  if (before === undefined) {
    if ((await host.files.list(directory)).length === 0) return;
    throw new AppError('unsafe', `${directory} holds something that is not a rehearsal cluster`, {
      code: 'DIRECTORY_NOT_EMPTY',
      tryThis: ['--dir with a new or empty directory'],
    });
  }
  const running = before.members
    .filter((member) => pidOf(host, member) !== undefined)
    .map((member) => member.name);
  if (running.length > 0) {
    throw new AppError('unsafe', `a rehearsal cluster runs in ${directory} (${running.join(', ')})`, {
      code: 'ALREADY_RUNNING',
      tryThis: [
        next(['kv', 'status', '--cluster', shellWord(`${directory}/cluster.yaml`)], 'to use it'),
        mockCommand('stop', directory, 'to end it'),
      ],
    });
  }
  if (!mayReplace) {
    throw new AppError('unsafe', `${directory} holds a rehearsal cluster that is stopped`, {
      code: 'DIRECTORY_NOT_EMPTY',
      tryThis: [
        mockCommand('start --again', directory, 'to continue with its data and versions'),
        mockCommand('start --replace', directory, 'to delete it and start a new cluster'),
      ],
    });
  }
  await host.files.remove(directory);
};
/** The data with which a member starts: none, or one first entry with all keys. */
const writeData = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  content: Content | undefined,
): Promise<void> => {
  const { v2Bytes } = rehearsal.options;
  await host.files.makeDirectory(`${member.dataDir}/member/snap`, 0o700);
  if (v2Bytes > 0) {
    const path = `${member.dataDir}/member/snap/0000000000000002-0000000000002711.snap`;
    await host.files.create(path, '', 0o600);
    await host.files.truncate(path, v2Bytes);
    await host.files.create(`${member.dataDir}/member/snap/db`, '', 0o600);
  }
  if (content === undefined) return;
  const identity = identityOf(rehearsal.members, member.peerUrl, 'rehearsal');
  await writeFirstLog(host, member.dataDir, identity, [{ op: 'restore', ...content }]);
};
const writeDirectory = async (
  host: Host,
  rehearsal: Rehearsal,
  content: Content | undefined,
): Promise<void> => {
  const { directory, options, members } = rehearsal;
  // If the directory cannot be created, the error names the directory that the user gave.
  await host.files.makeDirectory(directory, 0o700);
  for (const path of [`${directory}/bin`, `${directory}/snapshots`, faultsDirectory(directory)])
    await host.files.makeDirectory(path, 0o700);
  for (const version of binaryVersions(rehearsal)) {
    const path = binaryPath(directory, version, options.word);
    await host.files.create(path, binaryText(host.self, rehearsal, version), 0o700);
    await host.files.setMode(path, 0o700);
    for (const tool of ctlTools(version)) {
      const ctl = ctlPath(directory, version, options.word, tool);
      await host.files.create(ctl, ctlText(host.self, rehearsal, version, tool), 0o700);
      await host.files.setMode(ctl, 0o700);
    }
  }
  await awaitAll(members.map((member) => writeData(host, rehearsal, member, content)));
  for (const member of members)
    if (member.configFile !== undefined)
      await host.files.create(member.configFile, configText(member, rehearsal), 0o600);
  if (options.auth)
    await host.files.create(
      passwordFile(directory),
      `${Buffer.from(host.random(12)).toString('base64url')}\n`,
      0o600,
    );
  await host.files.create(`${directory}/cluster.yaml`, clusterText(rehearsal));
  await host.files.create(markerFile(directory), JSON.stringify(rehearsal, null, 2));
};
const isHealthy = async (host: Host, member: RehearsalMember): Promise<boolean> => {
  const answer = await callMember<{ health?: string }>(host, `${member.clientUrl}/health`);
  if (answer?.status !== 200 || answer.data.health !== 'true') return false;
  const version = await callMember<Record<string, string>>(host, `${member.clientUrl}/version`);
  return version !== undefined && !Object.values(version.data).includes('not_decided');
};
const notHealthy = async (host: Host, { name, logFile }: RehearsalMember, what: string) => {
  const lines = lossyText(await host.files.readBytes(logFile))
    .trim()
    .split('\n');
  // The suggested commands follow the error.
  const last = lines.slice(-5).findLast((line) => line.startsWith('error: ')) ?? lines.at(-1) ?? '';
  return new AppError('config', `simulated member ${name} ${what}: ${cutText(last, 300)}`, {
    code: 'NOT_HEALTHY',
    tryThis: [`see ${logFile}`],
  });
};
export const waitHealthy = async (
  host: Host,
  members: readonly RehearsalMember[],
  signal?: AbortSignal,
): Promise<void> => {
  const until = host.elapsed() + HEALTHY_WITHIN_MS;
  const one = async (member: RehearsalMember): Promise<void> => {
    while (!(await isHealthy(host, member))) {
      if (pidOf(host, member) === undefined) throw await notHealthy(host, member, 'ended');
      if (host.elapsed() > until)
        throw await notHealthy(host, member, `was not healthy within ${HEALTHY_WITHIN_MS / 1000} s`);
      await host.sleep(25, signal);
    }
  };
  await Promise.all(members.map(one));
};
/** spec/store#limits: a cluster with auth on. The password never leaves its file. */
const switchAuthOn = async (host: Host, rehearsal: Rehearsal): Promise<void> => {
  const password = ((await host.files.read(passwordFile(rehearsal.directory))) ?? '').trim();
  const member = rehearsal.members[0] as RehearsalMember;
  const prefix = formOf(rehearsal.options.version)?.prefixes[0] ?? '';
  for (const [path, body] of [
    ['/auth/user/add', { name: 'root', password }],
    ['/auth/enable', {}],
  ] as const) {
    const answer = await callMember(host, `${member.clientUrl}${prefix}${path}`, body);
    if (answer?.status !== 200)
      throw new AppError('unknown', `the simulated cluster refused ${path}`, { code: 'AUTH_NOT_ON' });
  }
};
/** Makes the directory, starts every member with the old binary and waits until all are healthy; when one does not become so, none is left running. */
export const startRehearsal = async (
  host: Host,
  directory: string,
  options: RehearsalOptions,
  more: { readonly mayReplace: boolean; readonly content?: Content; readonly signal?: AbortSignal },
): Promise<Rehearsal> => {
  await clearDirectory(host, directory, more.mayReplace);
  const rehearsal = rehearsalOf(directory, options, await host.network.freePorts(2 * options.members));
  try {
    await writeDirectory(host, rehearsal, more.content);
  } catch (error) {
    // Partial files would block the next attempt (a full disk that has free space again later).
    for (const name of await host.files.list(directory))
      await host.files.remove(childPath(directory, pathPart(name)));
    throw error;
  }
  try {
    await awaitAll(rehearsal.members.map((member) => startProcess(host, rehearsal, member, options.version)));
    await waitHealthy(host, rehearsal.members, more.signal);
    if (options.auth) await switchAuthOn(host, rehearsal);
    return rehearsal;
  } catch (error) {
    // A partial cluster is useless. The directory stays, because it contains the logs.
    await Promise.allSettled(rehearsal.members.map((member) => stopProcess(host, member)));
    throw error;
  }
};

/** The initial keys from the file of --keys. */
export const readContent = async (host: Host, path: string): Promise<Content> => {
  const text = await host.files.read(path);
  if (text === undefined)
    throw new AppError('config', `--keys: the file ${path} does not exist`, { code: 'NO_KEYS_FILE' });
  return storedObject<Content>(path, text, { revision: 'number', keys: ['record'] }, [
    '--keys names a JSON file with `revision` and `keys`',
  ]);
};

/** Describes the started cluster and the next commands. */
export const startedRehearsal = (rehearsal: Rehearsal): Result => {
  const { directory, members, options } = rehearsal;
  const file = `${directory}/cluster.yaml`;
  const data = {
    simulated: true,
    dir: directory,
    cluster_file: file,
    version: options.version,
    new_version: options.newVersion,
    members: members.map((member) => ({
      name: member.name,
      client_url: member.clientUrl,
      peer_url: member.peerUrl,
      data_dir: member.dataDir,
      pid_file: member.pidFile,
      log_file: member.logFile,
    })),
    endpoints: members.map((member) => member.clientUrl),
  };
  const text = [
    `${members.length} simulated members of version ${options.version} run. This is a rehearsal, not a database.`,
    ...members.map(({ name, clientUrl }) => `  ${name}  ${clientUrl}`),
    `Next: opsctl kv check --cluster ${shellWord(file)}`,
    `      opsctl kv upgrade --cluster ${shellWord(file)}`,
    `End:  opsctl mock kv stop --dir ${shellWord(directory)}`,
  ].join('\n');
  return recordResult(data, { text, name: 'cluster_file' });
};

export const isAlarm = (kind: string): kind is 'nospace' | 'corrupt' =>
  kind === 'nospace' || kind === 'corrupt';
/** Raises the alarm in the store, or with `clear` disarms all alarms. */
export const changeAlarm = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  action: string,
  kind: string,
): Promise<void> => {
  const version = (await callMember<Record<string, string>>(host, `${member.clientUrl}/version`))?.data[
    `${rehearsal.options.word}server`
  ];
  const prefix = formOf(version ?? rehearsal.options.version)?.prefixes[0] ?? '';
  const self = await callMember<{ id?: string }>(host, `${member.peerUrl}/simulation/state`);
  const memberID = BigInt(`0x${self?.data.id ?? '0'}`).toString();
  const headers: Record<string, string> = {};
  if (rehearsal.options.auth) {
    const password = ((await host.files.read(passwordFile(rehearsal.directory))) ?? '').trim();
    const token = await callMember<{ token?: string }>(
      host,
      `${member.clientUrl}${prefix}/auth/authenticate`,
      {
        name: 'root',
        password,
      },
    );
    headers['grpc-metadata-token'] = token?.data.token ?? '';
  }
  const answer = await callMember(
    host,
    `${member.clientUrl}${prefix}/maintenance/alarm`,
    { action, memberID, alarm: kind.toUpperCase() },
    headers,
  );
  if (answer?.status !== 200)
    throw new AppError('refused', `${member.name} did not take the alarm`, { code: 'ALARM_NOT_SET' });
};

/** The fault of a member, or `clear`. */
type Wanted = {
  readonly kind: FaultKind | 'nospace' | 'corrupt' | 'clear';
  readonly ms?: number | undefined;
  readonly 'only-version'?: string | undefined;
};
const change = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  next: (before: Fault[]) => Fault[],
): Promise<void> => {
  const path = faultFile(faultsDirectory(rehearsal.directory), member.name);
  await host.files.replace(path, JSON.stringify(next(await readFaults(host, path))));
  await callMember(host, `${member.peerUrl}/simulation/faults`, {});
};
export const setFault = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  wanted: Wanted,
): Promise<void> => {
  if (isAlarm(wanted.kind)) return changeAlarm(host, rehearsal, member, 'ACTIVATE', wanted.kind);
  if (wanted.kind !== 'clear') {
    const ms = wanted.ms ?? defaultMs(wanted.kind);
    const fault: Fault = {
      kind: wanted.kind,
      ...(ms === undefined ? {} : { ms }),
      ...(wanted['only-version'] === undefined ? {} : { version: wanted['only-version'] }),
    };
    return change(host, rehearsal, member, (before) => [
      ...before.filter((one) => one.kind !== fault.kind || one.version !== fault.version),
      fault,
    ]);
  }
  await change(host, rehearsal, member, () => []);
  if (pidOf(host, member) === undefined) return;
  for (const kind of ['nospace', 'corrupt']) await changeAlarm(host, rehearsal, member, 'DEACTIVATE', kind);
};

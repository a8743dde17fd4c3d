import { childPath, pathPart } from '../../core/file-name.ts';
import { lossyText } from '../../core/utf8.ts';
import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { clusterId, memberId } from '../disk/identity.ts';
import { Wal, entryLine } from '../disk/wal.ts';
import { formOf } from '../forms.ts';
import type { StoredKey } from '../state/command.ts';
import {
  type Rehearsal,
  type RehearsalMember,
  type RehearsalOptions,
  binaryPath,
  binaryText,
  clusterText,
  configText,
  faultsDirectory,
  markerFile,
  passwordFile,
  rehearsalOf,
} from './layout.ts';
import { ask, pidOf, readRehearsal, startProcess, stopProcess } from './processes.ts';

/** Keys to begin with (rehearsal on a copy of real data): the revision the store had and its keys. */
export type Content = { readonly revision: number; readonly keys: readonly StoredKey[] };
const HEALTHY_WITHIN_MS = 20_000;

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
      tryThis: [`opsctl mock kv stop --dir ${directory}`],
    });
  }
  if (!mayReplace) {
    const tryThis = [
      `opsctl mock kv start --dir ${directory} --replace`,
      `opsctl mock kv start --dir ${directory} --again`,
    ];
    throw new AppError('unsafe', `${directory} holds a rehearsal cluster that is stopped`, {
      code: 'DIRECTORY_NOT_EMPTY',
      tryThis,
    });
  }
  await host.files.remove(directory);
};

/** The data that a member starts with: nothing, or one first entry with all keys. */
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
  const ids = rehearsal.members.map((one) => memberId([one.peerUrl], 'rehearsal'));
  const { wal } = await Wal.open(host, member.dataDir);
  const command = { op: 'restore', keys: content.keys, revision: content.revision } as const;
  const entry = { index: 1, term: 1, data: { id: 'restore', command } };
  wal.write([
    { meta: { member: memberId([member.peerUrl], 'rehearsal'), cluster: clusterId(ids) } },
    { hard: { term: 1 } },
    entryLine(entry),
    { commit: 1 },
  ]);
  wal.close();
};

const writeDirectory = async (
  host: Host,
  rehearsal: Rehearsal,
  content: Content | undefined,
): Promise<void> => {
  const { directory, options, members } = rehearsal;
  await Promise.all(
    [directory, `${directory}/bin`, `${directory}/snapshots`, faultsDirectory(directory)].map((path) =>
      host.files.makeDirectory(path, 0o700),
    ),
  );
  for (const version of new Set([options.version, options.newVersion])) {
    const path = binaryPath(directory, version, options.word);
    await host.files.create(path, binaryText(host.self, rehearsal, version), 0o700);
    await host.files.setMode(path, 0o700);
  }
  await Promise.all(members.map((member) => writeData(host, rehearsal, member, content)));
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
  const answer = await ask<{ health?: string }>(host, `${member.clientUrl}/health`);
  if (answer?.status !== 200 || answer.data.health !== 'true') return false;
  const version = await ask<Record<string, string>>(host, `${member.clientUrl}/version`);
  return version !== undefined && !Object.values(version.data).includes('not_decided');
};
const notHealthy = async (host: Host, { name, logFile }: RehearsalMember, what: string) => {
  const lines = lossyText(await host.files.readBytes(logFile))
    .trim()
    .split('\n');
  // What a command says to try comes after what was wrong.
  const last = lines.slice(-5).findLast((line) => line.startsWith('error: ')) ?? lines.at(-1) ?? '';
  return new AppError('config', `simulated member ${name} ${what}: ${last.slice(0, 300)}`, {
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
    const answer = await ask(host, `${member.clientUrl}${prefix}${path}`, body);
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
    // The rest of it would be in the way of the next try (a full disk, and then there is room again).
    for (const name of await host.files.list(directory))
      await host.files.remove(childPath(directory, pathPart(name)));
    throw error;
  }
  await Promise.all(rehearsal.members.map((member) => startProcess(host, rehearsal, member, 'old')));
  try {
    await waitHealthy(host, rehearsal.members, more.signal);
    if (options.auth) await switchAuthOn(host, rehearsal);
    return rehearsal;
  } catch (error) {
    // Half a cluster helps nobody; the directory stays, for its logs.
    await Promise.all(rehearsal.members.map((member) => stopProcess(host, member)));
    throw error;
  }
};

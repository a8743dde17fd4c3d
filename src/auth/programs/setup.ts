import { args as positional, call, type ProgramCall } from '../../core/program-call.ts';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { readJsonText } from '../../core/json.ts';
import { AppError, problem } from '../../core/problem.ts';
import { isRecord } from '../../core/shape.ts';
import type { JsonFault } from '../../core/json-scan.ts';
import { sh, shellLine, shellWord } from '../../core/shell.ts';
import type { Host } from '../../platform/host.ts';
import { safeText } from '../auth-context.ts';
import { hostOf } from './credential-protocols.ts';

/** What `opsctl auth setup` writes into the configuration of another program, or removes from it. */
export type SetupRequest = {
  readonly program: 'git' | 'docker' | 'kubectl';
  readonly hosts: readonly string[];
  /** Flags that the helper command gets: account, user name, form of the token. */
  readonly flags: readonly string[];
  /** Name of the entry in the configuration of kubectl. */
  readonly user: string;
  /** The location of the program for docker, which must be on the PATH. */
  readonly binDirectory?: string;
  readonly removes: boolean;
  readonly isDryRun: boolean;
};
/** One place of a configuration. `entry` is what opsctl wrote there, or would write. */
export type SetupChange = {
  readonly program: SetupRequest['program'];
  readonly file: string;
  readonly entry: string;
  readonly change: 'added' | 'removed' | 'unchanged';
};
export type Setup = { readonly changes: readonly SetupChange[]; readonly notes: readonly string[] };

const pathDirectories = ({ env }: Pick<Host, 'env'>): string[] =>
  (env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
/** `opsctl`, if that is what a shell finds; else this program by its path, so that the configuration works from everywhere. */
const ownCommand = async (host: Pick<Host, 'env' | 'files' | 'self'>): Promise<readonly string[]> => {
  for (const directory of pathDirectories(host))
    if ((await host.files.info(join(directory, 'opsctl'))) !== undefined) return ['opsctl'];
  return host.self;
};
const home = ({ files }: Pick<Host, 'files'>): string => {
  const found = files.homeDirectory();
  if (found !== undefined) return found;
  throw new AppError('config', 'the home directory of this user is not known', {
    code: 'NO_HOME',
    tryThis: ['set HOME'],
  });
};
const foreign = (file: string, what: string, help: readonly string[]): AppError =>
  new AppError('config', `${file} contains ${what}, which opsctl did not write; no changes were made`, {
    code: 'FOREIGN_ENTRY',
    tryThis: help,
  });
/** Runs a program whose own command changes its configuration. */
const runProgram = async (
  host: Host,
  [program, words]: ProgramCall,
  goodCodes: readonly number[] = [0],
): Promise<string> => {
  const ended = await host.processes.run(program, words, { timeoutMs: 30_000 });
  if (ended.startError !== undefined)
    throw new AppError('config', `cannot run ${program}: ${ended.startError}`, {
      code: 'PROGRAM_NOT_FOUND',
      tryThis: [`install ${program}, or add it to the PATH`],
    });
  if (goodCodes.includes(ended.code ?? -1)) return ended.stdout;
  const isOld = /unknown flag: --exec-interactive-mode/.test(ended.stderr);
  throw new AppError(
    'refused',
    `${program} ${words.slice(0, 2).join(' ')} exited with code ${ended.code}: ${safeText(ended.stderr, 300)}`,
    {
      code: 'PROGRAM_FAILED',
      tryThis: isOld
        ? [
            'install kubectl 1.32 or newer',
            'write the exec entry by hand: docs/how-to/use-tokens-in-other-tools.md',
          ]
        : [`${program} --version`],
    },
  );
};

const changeOf = (isDone: boolean, removes: boolean): SetupChange['change'] =>
  isDone ? 'unchanged' : removes ? 'removed' : 'added';

const gitMark = 'auth git-credential';
/** The values of a key with their files: `file:/home/ada/.gitconfig`, a tab, the value. */
const readGit = async (host: Host, key: string): Promise<{ file: string; value: string }[]> => {
  const text = await runProgram(
    host,
    call`git config --global --null --show-origin --get-all ${key}`,
    [0, 1],
  );
  const parts = text.split('\0').slice(0, -1);
  return parts.flatMap((origin, i) =>
    i % 2 === 0 ? [{ file: origin.replace(/^file:/, ''), value: parts[i + 1] ?? '' }] : [],
  );
};
const gitFile = ({ env, files }: Host): string =>
  env.GIT_CONFIG_GLOBAL ?? join(home({ files }), '.gitconfig');
const removeGit = async (host: Host, key: string, rest: readonly string[]): Promise<void> => {
  await runProgram(host, call`git config --global --unset-all ${key} ${gitMark}`, [0, 5]);
  // The empty value that resets the list belongs to ours; with other helpers behind it, it is theirs.
  if (rest.every((value) => value === ''))
    await runProgram(host, call`git config --global --unset-all ${key} ^$`, [0, 5]);
};
const addGit = async (host: Host, key: string, value: string, rest: readonly string[]): Promise<void> => {
  await runProgram(host, call`git config --global --unset-all ${key} ${gitMark}`, [0, 5]);
  // An empty value keeps the token away from helpers for all hosts, which would store it in another place.
  if (rest.length === 0) await runProgram(host, call`git config --global --add ${key} ${''}`);
  await runProgram(host, call`git config --global --add ${key} ${value}`);
};
const setUpGitHost = async (
  host: Host,
  request: SetupRequest,
  own: readonly string[],
  name: string,
): Promise<SetupChange> => {
  const { removes, isDryRun, flags } = request;
  const key = `credential.https://${name}.helper`;
  const value = `!${shellLine([...own, 'auth', 'git-credential', '--host', name, ...flags])}`;
  const found = await readGit(host, key);
  const values = found.map((each) => each.value);
  const ours = values.filter((each) => each.includes(gitMark));
  const rest = values.filter((each) => !each.includes(gitMark));
  const isDone = removes ? ours.length === 0 : ours.length === 1 && ours[0] === value;
  if (!isDone && !isDryRun) await (removes ? removeGit(host, key, rest) : addGit(host, key, value, rest));
  return {
    program: 'git',
    file: found[0]?.file ?? gitFile(host),
    entry: `${key} = ${removes ? (ours[0] ?? value) : value}`,
    change: changeOf(isDone, removes),
  };
};
const setUpGit = async (host: Host, request: SetupRequest): Promise<Setup> => {
  const own = await ownCommand(host);
  const changes: SetupChange[] = [];
  for (const name of request.hosts.map(hostOf)) changes.push(await setUpGitHost(host, request, own, name));
  return { changes, notes: [] };
};

const HELPER_NAME = 'docker-credential-opsctl';
const scriptMark = '# Written by `opsctl auth setup docker`';
const scriptFor = (own: readonly string[], hosts: readonly string[], flags: readonly string[]): string => {
  const words = [...own, 'auth', 'docker-credential', ...hosts.flatMap((name) => ['--host', name]), ...flags];
  return String(sh`#!/bin/sh
# Written by \`opsctl auth setup docker\`; \`--remove\` removes it.
exec ${words} "$1"
`);
};
const hostsIn = (script: string): string[] =>
  [...script.matchAll(/--host (\S+)/g)].map(([, name = '']) => name);
type DockerConfig = { readonly text: string | undefined; readonly value: Readonly<Record<string, unknown>> };
const makeDockerError = (file: string, { line, column, what, hint, isJson }: JsonFault): AppError => {
  const why = isJson ? `cannot be used: ${what}` : `is not a JSON object: ${what}`;
  return new AppError('config', `${file}:${line} ${why}; no changes were made`, {
    code: 'BAD_DOCKER_CONFIG',
    problems: [{ ...problem('', 'format', what, hint), file, line, column }],
    tryThis: [hint ?? 'fix the file, or move it away: docker creates a new one'],
  });
};
const readDocker = async (host: Host, file: string): Promise<DockerConfig> => {
  const text = await host.files.read(file);
  if (text === undefined || text.trim() === '') return { text, value: {} };
  // The file is written again, so every key and every digit must be read.
  const value = readJsonText(text, (fault) => makeDockerError(file, fault));
  if (isRecord(value)) return { text, value };
  throw makeDockerError(file, { line: 1, column: 1, what: 'expected an object' });
};
/** Keeps the previous indentation; docker itself uses tabs. */
const printDocker = ({ text = '' }: DockerConfig, value: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify(value, null, /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '\t')}\n`;
const helpersOf = ({ value }: DockerConfig): Readonly<Record<string, unknown>> =>
  isRecord(value.credHelpers) ? value.credHelpers : {};
const withHelpers = (
  { value }: DockerConfig,
  helpers: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const { credHelpers, ...rest } = value;
  return Object.keys(helpers).length === 0 ? rest : { ...rest, credHelpers: helpers };
};
const writeKeepingMode = async ({ files }: Host, file: string, text: string, mode: number): Promise<void> => {
  const target = (await files.realPath(file)) ?? file;
  const before = await files.info(target);
  await files.makeDirectory(dirname(target));
  await files.replace(target, text, before === undefined ? mode : before.mode & 0o777);
};
const writeScript = async (
  host: Host,
  path: string,
  request: SetupRequest,
  hosts: readonly string[],
): Promise<SetupChange> => {
  const before = await host.files.read(path);
  if (before !== undefined && !before.includes(scriptMark))
    throw foreign(path, 'another program', ['use another --bin-dir', `or remove ${path}`]);
  const text = hosts.length === 0 ? undefined : scriptFor(await ownCommand(host), hosts, request.flags);
  if (text !== before && !request.isDryRun)
    await (text === undefined ? host.files.remove(path) : writeKeepingMode(host, path, text, 0o755));
  const change = text === before ? 'unchanged' : text === undefined ? 'removed' : 'added';
  return { program: 'docker', file: path, entry: (text ?? before ?? '').split('\n')[2] ?? '', change };
};
const setUpDocker = async (host: Host, request: SetupRequest): Promise<Setup> => {
  const names = request.hosts.map(hostOf);
  const file = join(host.env.DOCKER_CONFIG ?? join(home(host), '.docker'), 'config.json');
  const bin = request.binDirectory ?? join(home(host), '.local', 'bin');
  const config = await readDocker(host, file);
  const helpers = helpersOf(config);
  const other = names.find((name) => helpers[name] !== undefined && helpers[name] !== 'opsctl');
  if (other !== undefined && !request.removes)
    throw foreign(file, `the helper ${JSON.stringify(helpers[other])} for ${other}`, [
      `remove credHelpers["${other}"] from ${file} first`,
    ]);
  const isOurs = (name: string): boolean => helpers[name] === 'opsctl';
  const next = request.removes
    ? Object.fromEntries(Object.entries(helpers).filter(([name]) => !(names.includes(name) && isOurs(name))))
    : { ...helpers, ...Object.fromEntries(names.map((name) => [name, 'opsctl'])) };
  const changed = names.filter((name) => isOurs(name) === request.removes);
  const script = join(bin, HELPER_NAME);
  const known = hostsIn((await host.files.read(script)) ?? '');
  const kept = [...new Set([...known, ...names])].filter((name) => !request.removes || !names.includes(name));
  // Writes the program before the entry for it, and removes the entry before the program.
  const write = async (): Promise<void> => {
    if (changed.length > 0 && !request.isDryRun)
      await writeKeepingMode(host, file, printDocker(config, withHelpers(config, next)), 0o600);
  };
  if (request.removes) await write();
  const program = await writeScript(host, script, request, kept);
  if (!request.removes) await write();
  const entries = names.map((name) => ({
    program: 'docker' as const,
    file,
    entry: `credHelpers["${name}"] = "opsctl"`,
    change: changeOf(!changed.includes(name), request.removes),
  }));
  const isFound = request.removes || pathDirectories(host).includes(bin);
  return {
    changes: [...entries, program],
    notes: isFound ? [] : [`${bin} is not on the PATH: add it, or docker does not find ${HELPER_NAME}`],
  };
};

const kubectlMark = 'kubectl-credential';
type KubeUser = {
  readonly name?: unknown;
  readonly user?: { readonly exec?: { readonly command?: unknown; readonly args?: unknown } };
};
const usersIn = (text: string): readonly KubeUser[] => {
  try {
    const { users } = JSON.parse(text) as { users?: readonly KubeUser[] | null };
    return users ?? [];
  } catch (error) {
    throw new AppError('refused', 'kubectl config view printed no JSON; no changes were made', {
      code: 'PROGRAM_FAILED',
      tryThis: ['kubectl config view -o json'],
      cause: error,
    });
  }
};
const readKubeUser = async (host: Host, name: string): Promise<KubeUser | undefined> => {
  const text = await runProgram(host, call`kubectl config view --raw -o json`);
  return usersIn(text).find((each) => each.name === name);
};
const wordsOf = ({ user }: KubeUser): string[] =>
  [user?.exec?.command, ...(Array.isArray(user?.exec?.args) ? user.exec.args : [])].map(String);
const kubeFile = ({ env, files }: Host): string =>
  (env.KUBECONFIG ?? '').split(delimiter).find((path) => path !== '') ??
  join(home({ files }), '.kube', 'config');
const setUpKubectl = async (host: Host, request: SetupRequest): Promise<Setup> => {
  const [command = 'opsctl', ...before] = await ownCommand(host);
  const args = [...before, 'auth', kubectlMark, ...request.flags];
  const found = await readKubeUser(host, request.user);
  const isOurs = found !== undefined && wordsOf(found).includes(kubectlMark);
  const file = kubeFile(host);
  if (found !== undefined && !isOurs)
    throw foreign(file, `the user ${request.user}`, ['choose another name: --user NAME']);
  const isSame = isOurs && wordsOf(found).join('\0') === [command, ...args].join('\0');
  const isDone = request.removes ? !isOurs : isSame;
  const execArgs = args.reduce((all, arg) => positional`${all} --exec-arg=${arg}`, positional``);
  const line = request.removes
    ? call`kubectl config delete-user -- ${request.user}`
    : call`kubectl config set-credentials --exec-api-version=client.authentication.k8s.io/v1 --exec-interactive-mode=IfAvailable --exec-command=${command} ${execArgs} -- ${request.user}`;
  if (!isDone && !request.isDryRun) await runProgram(host, line);
  const change = changeOf(isDone, request.removes);
  const entry = `users["${request.user}"].exec = ${shellLine([command, ...args])}`;
  return {
    changes: [{ program: 'kubectl', file, entry, change }],
    notes: request.removes
      ? []
      : [`use it in a context: kubectl config set-context --current --user=${shellWord(request.user)}`],
  };
};
/**
 * Writes or removes the configuration. Other content of the files stays unchanged, and a second run makes no
 * changes.
 */
export const setUp = (host: Host, request: SetupRequest): Promise<Setup> => {
  if (request.program === 'git') return setUpGit(host, request);
  return request.program === 'docker' ? setUpDocker(host, request) : setUpKubectl(host, request);
};

import { type Candidate, type Sources, completions } from './cli/complete.ts';

const fs = process.getBuiltinModule('node:fs');

/** OPSCTL_HOME, else the XDG directory of that kind: as config/settings.ts, for the systems that have these shells. */
const directory = (kind: 'cache' | 'config' | 'state', xdg: string | undefined): string => {
  const { OPSCTL_HOME: own = '', HOME: home = '' } = process.env;
  return own !== ''
    ? `${own}/${kind}`
    : `${xdg?.startsWith('/') ? xdg : `${home}/${kind === 'state' ? '.local/state' : `.${kind}`}`}/opsctl`;
};

/** A file that was kept or named; TAB must not wait for a pipe or read a device. */
const textOf = (path: string): string => {
  if (!fs.statSync(path).isFile()) throw new Error(`${path} is no file`);
  return fs.readFileSync(path, 'utf8');
};
const lines = (path: string): string[] => textOf(path).split('\n').filter(Boolean);
const plain = (words: readonly string[]): Candidate[] => words.map((word) => ({ word }));

type Stored = { readonly profiles?: Readonly<Record<string, unknown>>; readonly current?: string };
const readStored = (): Stored => {
  try {
    return JSON.parse(textOf(`${directory('config', process.env.XDG_CONFIG_HOME)}/config.json`));
  } catch {
    return {};
  }
};

/** The value that the line gives to a flag, so far. */
const valueOfFlag = (words: readonly string[], flag: string): string | undefined => {
  const at = words.indexOf(flag);
  return (
    words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) ??
    (at < 0 ? undefined : words[at + 1])
  );
};
const isProfile = (name: unknown): name is string =>
  typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);
/** The profile that was named explicitly. The one of the command line wins. */
const namedProfile = (words: readonly string[]): string | undefined => {
  const name = valueOfFlag(words.slice(0, -1), '--profile') ?? process.env.OPSCTL_PROFILE ?? '';
  const found = name === '' ? readStored().current : name;
  return isProfile(found) ? found : undefined;
};
/** Each profile has a separate cache and state directory. */
const profileOf = (words: readonly string[]): string => namedProfile(words) ?? 'mock';

const state = (): string => directory('state', process.env.XDG_STATE_HOME);
/** The cluster file that the line names, that of a rehearsal's directory, the one of the environment, else that of the simulated cluster. */
const clusterFile = (words: readonly string[]): string => {
  const rehearsal = valueOfFlag(words, '--dir');
  const named =
    valueOfFlag(words, '--cluster') ??
    (rehearsal === undefined ? undefined : `${rehearsal}/cluster.yaml`) ??
    process.env.OPSCTL_KV_CLUSTER;
  return named || `${state()}/${profileOf(words)}/mock-kv/cluster.yaml`;
};
/** Runs of that cluster, the newest first. */
const runs = (path: string): string[] => {
  const [, cluster = ''] = /^name:[ \t]*["']?([\w.-]+)/m.exec(textOf(path)) ?? [];
  const found = fs.readdirSync(`${state()}/kv-clusters/${cluster}`);
  return found
    .filter((name) => /^\d{8}T/.test(name))
    .sort()
    .reverse();
};
/** Returns the names of the members, which are indented. The cluster's own name is not indented. */
const memberNames = (path: string): string[] =>
  [...textOf(path).matchAll(/^[ \t-]+name:[ \t]*["']?([\w.-]+)/gm)].map(([, name]) => name ?? '');

/** Older records are no longer offered. */
const MAX_AGE_MS = 7 * 24 * 60 * 60_000;
/** People type the names of these; everything else is named by its id. */
const BY_NAME =
  /^(label|label-title|member|group|category|custom-field|entity-template|epic-state|workflow-state|iteration|project|repository|workflow|epic|objective)$/;

const candidate = (kind: string, line: string, start: string): Candidate[] => {
  const [id = '', at = '', ...names] = line.split('\t');
  const [name = '', ...others] = names;
  if (Date.now() - Number(at) > MAX_AGE_MS) return [];
  const isById = name === '' || !BY_NAME.test(kind) || (start !== '' && id.startsWith(start));
  return isById
    ? [{ word: id, about: names.join(', ') }]
    : [{ word: name, about: [kind === 'label-title' ? id : `${kind} ${id}`, ...others].join(', ') }];
};

/** Records that earlier commands of this profile have seen: names with ids, ids with titles. */
const records = (kind: string, words: readonly string[]): Candidate[] => {
  const cache = `${directory('cache', process.env.XDG_CACHE_HOME)}/${profileOf(words)}`;
  const start =
    (words.at(-1) ?? '')
      .replace(/^--[^=]+=/, '')
      .split(',')
      .at(-1) ?? '';
  try {
    return lines(`${cache}/records/${kind}`).flatMap((line) => candidate(kind, line, start));
  } catch {
    return plain(lines(`${cache}/names/${kind}`));
  }
};

/** If no profile was named, each server has one, as in auth/credential-store/store.ts. */
const signInProfiles = (words: readonly string[]): string[] => {
  const named = namedProfile(words);
  if (named !== undefined) return [named];
  try {
    const { current, profiles = [] } = JSON.parse(textOf(`${state()}/sign-ins.json`));
    return [...new Set([current, ...profiles, 'mock'].filter(isProfile))];
  } catch {
    return ['mock'];
  }
};
/** Returns the signed-in accounts from the list next to the credentials. The credentials are never read. */
const signIns = (words: readonly string[]): Candidate[] =>
  signInProfiles(words).flatMap((profile) => {
    const directory = `${state()}/${profile}`;
    if (!fs.existsSync(`${directory}/credentials.json`) || !fs.existsSync(`${directory}/accounts`)) return [];
    return lines(`${directory}/accounts`).map((line) => {
      const [word = '', server = ''] = line.split('\t');
      return { word, about: server === 'mock' ? 'The embedded server' : server };
    });
  });

/** Reads a file of the build. The single executable has another reader. */
export type ReadBuild = (path: string) => string;
const besideProgram: ReadBuild = (path) => fs.readFileSync(new URL(path, import.meta.url), 'utf8');
const treePart = (read: ReadBuild, name: string): any => JSON.parse(read(`./tree/${name}.json`));

const readCached = (source: string, words: readonly string[], read: ReadBuild): Candidate[] => {
  if (source === 'profile')
    return ['mock', ...Object.keys(readStored().profiles ?? {})].map((word) => ({
      word,
      about: word === 'mock' ? 'The embedded services' : 'Profile',
    }));
  if (source === 'explainable') return plain(treePart(read, 'explainable'));
  if (source === 'sign-in') return signIns(words);
  if (source === 'kv-run') return plain(runs(clusterFile(words)));
  if (source === 'kv-member') return plain(memberNames(clusterFile(words)));
  return records(source.replace(/[^a-z-]/g, ''), words);
};

/** A missing or unreadable file only means that there are no candidates. */
const sourcesFor = (settings: readonly string[], words: readonly string[], read: ReadBuild): Sources => ({
  tree: (path) => treePart(read, path.join('.')),
  cached: (source) => {
    try {
      return source === 'setting' ? plain(settings) : readCached(source, words, read);
    } catch {
      return [];
    }
  },
});

const oneLine = (text: string): string => text.replaceAll(/[\r\n\t]+/g, ' ');

/**
 * `opsctl __complete <words…>`: prints one candidate per line. `opsctl __describe <words…>`: prints a
 * candidate, a tab and its description; the last line specifies whether the shell may offer files. Loads only
 * the needed parts of the command tree.
 */
export const complete = (words: readonly string[], isDescribed = false, read = besideProgram): void => {
  const line = words.length === 0 ? [''] : words;
  const root = treePart(read, 'root');
  const { candidates, files = 'none' } = completions(root, line, sourcesFor(root.settings, line, read));
  const usable = candidates.filter(({ word }) => word !== '' && !/[\r\n]/.test(word));
  const text = isDescribed
    ? [...usable.map(({ word, about = '' }) => `${word}\t${oneLine(about)}`), `:${files}`]
    : usable.map(({ word }) => word);
  try {
    fs.writeSync(1, text.map((one) => `${one}\n`).join(''));
  } catch (error) {
    // A shell that reads no longer, or cannot: TAB never complains.
    if (!['EPIPE', 'ENOSPC'].includes((error as { code?: string }).code ?? '')) throw error;
  }
};

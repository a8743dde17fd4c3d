import { type Sources, completions } from './cli/complete.ts';

const fs = process.getBuiltinModule('node:fs');

/** OPSCTL_HOME, else the XDG directory of that kind: as config/directories.ts, for the systems that have these shells. */
const directory = (kind: 'cache' | 'config' | 'state', xdg: string | undefined): string => {
  const { OPSCTL_HOME: own = '', HOME: home = '' } = process.env;
  return own !== ''
    ? `${own}/${kind}`
    : `${xdg || `${home}/${kind === 'state' ? '.local/state' : `.${kind}`}`}/opsctl`;
};

const lines = (path: string): string[] => fs.readFileSync(path, 'utf8').split('\n').filter(Boolean);

type Stored = { readonly profiles?: Readonly<Record<string, unknown>>; readonly current?: string };
const stored = (): Stored => {
  try {
    return JSON.parse(
      fs.readFileSync(`${directory('config', process.env.XDG_CONFIG_HOME)}/config.json`, 'utf8'),
    );
  } catch {
    return {};
  }
};
/** Each profile has a cache and a state of its own. */
const profile = (): string => process.env.OPSCTL_PROFILE || stored().current || 'mock';
const names = (source: string): string => {
  return `${directory('cache', process.env.XDG_CACHE_HOME)}/${profile()}/names/${source.replace(/[^a-z-]/g, '')}`;
};

/** The value that the line gives to a flag, so far. */
const given = (words: readonly string[], flag: string): string | undefined => {
  const at = words.indexOf(flag);
  return (
    words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) ??
    (at < 0 ? undefined : words[at + 1])
  );
};
const state = (): string => directory('state', process.env.XDG_STATE_HOME);
/** The cluster file that the line names, that of a rehearsal's directory, the one of the environment, else that of the simulated cluster. */
const clusterFile = (words: readonly string[]): string => {
  const rehearsal = given(words, '--dir');
  const named =
    given(words, '--cluster') ??
    (rehearsal === undefined ? undefined : `${rehearsal}/cluster.yaml`) ??
    process.env.OPSCTL_KV_CLUSTER;
  return named || `${state()}/${profile()}/mock-kv/cluster.yaml`;
};
/** Runs of that cluster, the newest first. */
const runs = (path: string): string[] => {
  const [, cluster = ''] = /^name:[ \t]*["']?([\w.-]+)/m.exec(fs.readFileSync(path, 'utf8')) ?? [];
  const found = fs.readdirSync(`${state()}/kv-clusters/${cluster}`);
  return found
    .filter((name) => /^\d{8}T/.test(name))
    .sort()
    .reverse();
};
/** Names of the members: those that are indented; the cluster's own name stands at the margin. */
const memberNames = (path: string): string[] =>
  [...fs.readFileSync(path, 'utf8').matchAll(/^[ \t-]+name:[ \t]*["']?([\w.-]+)/gm)].map(
    ([, name]) => name ?? '',
  );

/** Names of settings and profiles, and those seen by earlier commands, a line each; missing or unreadable is simply nothing to offer. */
const known = (settings: readonly string[], words: readonly string[]): Sources => ({
  cached: (source) => {
    try {
      if (source === 'setting') return [...settings];
      if (source === 'profile') return ['mock', ...Object.keys(stored().profiles ?? {})];
      if (source === 'kv-run') return runs(clusterFile(words));
      if (source === 'kv-member') return memberNames(clusterFile(words));
      return lines(names(source));
    } catch {
      return [];
    }
  },
});

/** `opsctl __complete <words…>`: one candidate a line. Loads nothing but the command tree. */
export const complete = (words: readonly string[]): void => {
  const tree = JSON.parse(fs.readFileSync(new URL('./tree.json', import.meta.url), 'utf8'));
  const found = completions(tree, words.length === 0 ? [''] : words, known(tree.settings, words));
  try {
    fs.writeSync(1, found.map((word) => `${word}\n`).join(''));
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error;
  }
};

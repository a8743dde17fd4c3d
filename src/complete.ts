import type { Root, Tree, TreeFlag } from './cli/list-commands.ts';

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
  // Most of these files are missing, and an error of Node.js costs more than the whole search.
  if (fs.statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new Error(`${path} is no file`);
  return fs.readFileSync(path, 'utf8');
};
const lines = (path: string): string[] => textOf(path).split('\n').filter(Boolean);
/** Values of the build: a value may have a tab and its meaning behind it. */
const plain = (words: Iterable<string>): Candidate[] =>
  [...words].map((text) => {
    const [word = '', about] = text.split('\t');
    return about === undefined ? { word } : { word, about };
  });

type Stored = { readonly profiles?: Readonly<Record<string, unknown>>; readonly current?: string };
const readStored = (): Stored => {
  try {
    return JSON.parse(textOf(`${directory('config', process.env.XDG_CONFIG_HOME)}/config.json`)) as Stored;
  } catch {
    return {};
  }
};

const readAliases = (): Aliases => {
  try {
    const { aliases } = JSON.parse(
      textOf(`${directory('config', process.env.XDG_CONFIG_HOME)}/aliases.json`),
    ) as { readonly aliases: readonly { readonly name: string; readonly line: string }[] };
    const isName = ({ name }: { readonly name: string }): boolean => /^[a-z][a-z0-9-]*$/.test(name);
    return new Map(aliases.filter(isName).map(({ name, line }) => [name, line]));
  } catch {
    return new Map();
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
    const { current, profiles = [] } = JSON.parse(textOf(`${state()}/sign-ins.json`)) as {
      readonly current?: unknown;
      readonly profiles?: readonly unknown[];
    };
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

const EXTENSION = /^[a-z][a-z0-9-]{0,63}$/;
const directoriesOfPath = (): string[] =>
  (process.env.PATH ?? '').split(':').filter((directory) => directory.startsWith('/'));
const installedExtensions = (): string => `${directory('config', process.env.XDG_CONFIG_HOME)}/extensions`;
/** Returns whether the path is a program. A link without a target and an unreadable path are not programs. */
const isProgram = (path: string): boolean => {
  try {
    const stats = fs.statSync(path);
    return stats.isFile() && (stats.mode & 0o111) !== 0;
  } catch {
    return false;
  }
};
/** Names of the programs `opsctl-NAME` in these directories, as src/cli/aliases.ts finds them. */
const extensionsIn = (directories: readonly string[]): Candidate[] => {
  const found = directories.flatMap((each) => {
    try {
      return fs
        .readdirSync(each)
        .filter((file) => file.startsWith('opsctl-') && EXTENSION.test(file.slice('opsctl-'.length)))
        .filter((file) => isProgram(`${each}/${file}`))
        .map((file) => file.slice('opsctl-'.length));
    } catch {
      return [];
    }
  });
  return [...new Set(found)].sort().map((word) => ({ word, about: 'Extension' }));
};

/** Reads a file of the build. The single executable has another reader. */
export type ReadBuild = (path: string) => string;
const besideProgram: ReadBuild = (path) => fs.readFileSync(`${import.meta.dirname}/${path}`, 'utf8');
const treePart = <Part>(read: ReadBuild, name: string): Part =>
  JSON.parse(read(`./tree/${name}.json`)) as Part;

const readCached = (source: string, words: readonly string[], read: ReadBuild): Candidate[] => {
  if (source === 'profile')
    return ['mock', ...Object.keys(readStored().profiles ?? {})].map((word) => ({
      word,
      about: word === 'mock' ? 'The embedded services' : 'Profile',
    }));
  if (source === 'alias') return [...readAliases()].map(([word, about]) => ({ word, about }));
  if (source === 'extension') return extensionsIn([installedExtensions()]);
  if (source === 'explainable') return plain(treePart<string[]>(read, 'explainable'));
  if (source === 'sign-in') return signIns(words);
  if (source === 'kv-run') return plain(runs(clusterFile(words)));
  if (source === 'kv-member') return plain(memberNames(clusterFile(words)));
  return records(source.replace(/[^a-z-]/g, ''), words);
};

/** A missing or unreadable file only means that there are no candidates. */
const sourcesFor = (settings: readonly string[], words: readonly string[], read: ReadBuild): Sources => ({
  tree: (path) => treePart(read, path.join('.')),
  aliases: readAliases(),
  extensions: words.length > 1 ? [] : extensionsIn([installedExtensions(), ...directoriesOfPath()]),
  listCached: (source) => {
    try {
      return source === 'setting' ? plain(settings) : readCached(source, words, read);
    } catch {
      return [];
    }
  },
});

/** A description is text from services and files: a terminal must not obey its control characters. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ');

/**
 * `opsctl __complete <words…>`: prints one candidate per line. `opsctl __describe <words…>`: prints a
 * candidate, a tab and its description; the last line specifies whether the shell may offer files. Loads only
 * the needed parts of the command tree.
 */
export const complete = (
  words: readonly string[],
  isDescribed = false,
  read = besideProgram,
  limitMs = EXTENSION_MS,
): void | Promise<void> => {
  const line = words.length === 0 ? [''] : words;
  const root = treePart<Root & { readonly settings: readonly string[] }>(read, 'root');
  const sources = sourcesFor(root.settings, line, read);
  const name = extensionOf(root, line, sources.aliases ?? new Map());
  const isAsked = (each: string): boolean => fs.existsSync(`${each}/opsctl_complete-${name}`);
  if (name === undefined || !directoriesOfPath().some(isAsked))
    return print(completions(root, line, sources), isDescribed);
  return askExtension(name, line.slice(1), limitMs)
    .catch(() => '')
    .then((text) => print(parseExtensionOutput(text, line.at(-1) ?? ''), isDescribed));
};
/** TAB stops waiting for the program of an extension after this time. */
const EXTENSION_MS = 1_000;
/** Loads the program, so a line without an extension does not wait for it. */
const askExtension = async (name: string, words: readonly string[], limitMs: number): Promise<string> => {
  const [{ completeExtension }, { nodeHost }] = await Promise.all([
    import('./cli/aliases.ts'),
    import('./platform/node/host.ts'),
  ]);
  return (await completeExtension(nodeHost(), name, words, limitMs)) ?? '';
};
const print = ({ candidates, files }: CompletionResult, isDescribed: boolean): void => {
  const usable = candidates.filter(({ word }) => word !== '' && !/[\r\n]/.test(word));
  const text = isDescribed
    ? [...usable.map(({ word, about = '' }) => `${word}\t${oneLine(about)}`), `:${files ?? 'none'}`]
    : usable.map(({ word }) => word);
  try {
    fs.writeSync(1, text.map((one) => `${one}\n`).join(''));
  } catch (error) {
    // A shell that reads no longer, or cannot: TAB never complains.
    if (!['EPIPE', 'ENOSPC'].includes((error as { code?: string }).code ?? '')) throw error;
  }
};

/** The extension that the line starts with; undefined for a command, an alias and the first word itself. Pure. */
const extensionOf = (
  root: Root,
  [name = '', ...more]: readonly string[],
  aliases: Aliases,
): string | undefined =>
  more.length > 0 &&
  EXTENSION.test(name) &&
  name !== 'help' &&
  !Object.hasOwn(root.sub, name) &&
  !aliases.has(name)
    ? name
    : undefined;
/** Bits of the last line `:N`, as programs made with Cobra print it. */
const [FAILED, NO_FILES, BY_SUFFIX, ONLY_DIRECTORIES] = [1, 4, 8, 16];
const bitsOf = (directive: string): number => (/^\d+$/.test(directive) ? Number(directive) : NO_FILES);
const filesOf = (directive: string): CompletionResult['files'] => {
  if (directive === 'file' || directive === 'directory') return directive;
  const bits = bitsOf(directive);
  if ((bits & FAILED) !== 0) return undefined;
  if ((bits & BY_SUFFIX) !== 0) return 'file';
  if ((bits & ONLY_DIRECTORIES) !== 0) return 'directory';
  return (bits & NO_FILES) === 0 ? 'file' : undefined;
};
/** The words before these directives are suffixes of files, or the directory to search: they are not candidates. */
const limitsFiles = (directive: string): boolean =>
  (bitsOf(directive) & (FAILED | BY_SUFFIX | ONLY_DIRECTORIES)) !== 0;
const MOST_WORDS = 1_000;
/** Reads the output of `opsctl_complete-NAME`: a candidate, a tab and its description in each line; `:file` or Cobra's `:N` last. Files are offered if no candidate fits. Pure. */
export const parseExtensionOutput = (text: string, current: string): CompletionResult => {
  const rows = text.split('\n').filter((row) => row !== '' && !row.startsWith('_activeHelp_ '));
  const last = rows.at(-1) ?? '';
  const directive = last.startsWith(':') ? last.slice(1) : undefined;
  const files = directive === undefined ? undefined : filesOf(directive);
  const ifNone: CompletionResult = { candidates: [], ...(files === undefined ? {} : { files }) };
  if (directive !== undefined && limitsFiles(directive)) return ifNone;
  const shown = rows
    .slice(0, directive === undefined ? MOST_WORDS : Math.min(MOST_WORDS, rows.length - 1))
    .map((row) => {
      const [word = '', about = ''] = row.split('\t');
      return { word, about };
    });
  // A name with a leading dash is offered only if a flag is completed.
  const usable = shown.filter(
    ({ word }) => isShown(word) && word.startsWith('-') === current.startsWith('-'),
  );
  const candidates = starting(usable, current);
  return candidates.length === 0 ? ifNone : { candidates };
};

type Aliases = ReadonlyMap<string, string>;
type Expanded = { readonly line: readonly string[]; readonly before?: string };
/**
 * The words of the line behind an alias, up to the word under the cursor. `before`: the part of that word which the alias
 * already contains. Pure.
 */
const expandLine = (root: Root, line: readonly string[], aliases: Aliases): Expanded => {
  const [name = '', ...args] = line;
  const stored = line.length < 2 || Object.hasOwn(root.sub, name) ? undefined : aliases.get(name);
  if (stored === undefined) return { line };
  const words = (stored.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) =>
    word.replaceAll(/^['"]|['"]$/g, ''),
  );
  const parameter = `$${args.length}`;
  const current = words.findIndex((word) => word.endsWith(parameter));
  const fill = (word: string): string =>
    word.replaceAll(/\$([1-9])/g, (whole, digit: string) => args[Number(digit) - 1] ?? whole);
  const word = words[current];
  if (word !== undefined) {
    const before = fill(word.slice(0, -parameter.length));
    return { line: [...words.slice(0, current).map(fill), `${before}${args.at(-1) ?? ''}`], before };
  }
  return { line: [...words.map(fill), ...args.filter((_, at) => !stored.includes(`$${at + 1}`))] };
};

export type Candidate = { readonly word: string; readonly about?: string };
/** Completions that the shell itself may add; none by default. */
export type CompletionResult = {
  readonly candidates: readonly Candidate[];
  readonly files?: 'file' | 'directory';
};
/** What completion may read in addition to the tree. Completion never uses the network. */
export type Sources = {
  /** Lines by the names of aliases. */
  readonly aliases?: Aliases;
  /** Programs that can be the first word. */
  readonly extensions?: readonly Candidate[];
  listCached(source: string): readonly Candidate[];
  /** The commands below these words, if they are in a separate file. */
  tree(path: readonly string[]): Tree;
};

const starting = (all: Iterable<Candidate>, start: string): Candidate[] =>
  [...all].filter(({ word }) => word.startsWith(start));

/** Characters that a terminal obeys or hides, so that the offered name looks like another name. */
const isShown = (word: string): boolean =>
  // V8 builds the sets of the second pattern at its first use.
  /^[ -~]*$/.test(word) || !/[\p{Cc}\p{Bidi_Control}\u200b\u2060\ufeff]/u.test(word);

/** Records that TAB knows; people write `@ana` for members and teams as often as `ana`. */
const findKnown = (sources: Sources, source: string, start: string): CompletionResult => {
  if (source === 'file' || source === 'directory') return { candidates: [], files: source };
  // Names are text from services and files: on a command line a leading dash makes a name a flag.
  const all = sources.listCached(source).filter(({ word }) => !word.startsWith('-') && isShown(word));
  const isCalledAt = start.startsWith('@') && (source === 'member' || source === 'group');
  const named = isCalledAt
    ? all.map(({ word, about }) => ({ word: `@${word}`, ...(about ? { about } : {}) }))
    : all;
  return { candidates: starting(named, start) };
};

const flagValues = (flag: TreeFlag, start: string, prefix: string, sources: Sources): CompletionResult => {
  const comma = start.lastIndexOf(',') + 1;
  const kept = prefix + start.slice(0, comma);
  const typed = start.slice(comma);
  const found: CompletionResult = flag.v
    ? { candidates: starting(plain(flag.v), typed) }
    : flag.c
      ? findKnown(sources, flag.c, typed)
      : { candidates: [] };
  // A list does not offer a value twice.
  const given = new Set(start.slice(0, comma).split(','));
  const open = found.candidates.filter(({ word }) => !given.has(word));
  return { ...found, candidates: open.map((one) => ({ ...one, word: kept + one.word })) };
};

/** The command's own flags come first, and win over a global one of the same name. */
const own = (root: Root, at: Tree): Record<string, TreeFlag> => ({
  ...at.flags,
  ...root.global,
  ...at.flags,
});

type Walked = {
  readonly at: Tree;
  readonly args: number;
  readonly flags: Record<string, TreeFlag>;
  readonly pending?: TreeFlag;
  readonly isOver: boolean;
};
/** The flag of a word like `--name` or `-n`, when the next word is its value. */
const awaiting = (flags: Record<string, TreeFlag>, word: string): TreeFlag | undefined => {
  const flag = word.startsWith('--')
    ? flags[word.slice(2)]
    : Object.values(flags).find((f) => f.s === word.slice(1));
  return flag && !flag.t && !word.includes('=') ? flag : undefined;
};

/** Walks the words that are complete; flags and their values are stepped over. */
const walk = (root: Root, words: readonly string[], sources: Sources): Walked => {
  let at: Tree = { sub: root.sub };
  const path: string[] = [];
  let args = 0;
  let isOver = false;
  let pending: TreeFlag | undefined;
  const step = (word: string): void => {
    const below = args === 0 ? at.sub?.[word] : undefined;
    if (word === '--') isOver = true;
    else if (!isOver && word.startsWith('-')) pending = awaiting(own(root, at), word);
    else if (below !== undefined) {
      path.push(word);
      at = below.more ? sources.tree(path) : below;
    } else args += 1;
  };
  for (const word of words) {
    if (pending === undefined) step(word);
    else pending = undefined;
  }
  return { at, args, flags: own(root, at), isOver, ...(pending ? { pending } : {}) };
};

const flagNames = (flags: Record<string, TreeFlag>, start: string): Candidate[] =>
  starting(
    Object.entries(flags).map(([name, { d }]) => ({ word: `--${name}`, ...(d ? { about: d } : {}) })),
    start,
  );
const words = (sub: { [word: string]: Tree }): Candidate[] =>
  Object.entries(sub).map(([word, { summary }]) => ({ word, ...(summary ? { about: summary } : {}) }));

/** `help` takes the words of commands, and names of topics. */
const helpWords = (root: Root, given: readonly string[], sources: Sources): CompletionResult => {
  const current = given.at(-1) ?? '';
  const { at, args } = walk(root, given.slice(0, -1), sources);
  if (at.sub === undefined || args > 0) return { candidates: [] };
  const topics =
    given.length > 1 ? [] : Object.entries(root.topics).map(([word, about]) => ({ word, about }));
  return { candidates: starting([...topics, ...words(at.sub)], current) };
};

const argumentValues = ({ at, args }: Walked, current: string, sources: Sources): CompletionResult => {
  const places = at.args ?? [];
  if (args >= places.length && at.rest !== true) return { candidates: [] };
  const source = places[Math.min(args, places.length - 1)];
  if (source === undefined) return { candidates: [] };
  return typeof source === 'string'
    ? findKnown(sources, source, current)
    : { candidates: starting(plain(source), current) };
};

const completeLine = (
  root: Root,
  line: readonly string[],
  { aliases = new Map(), extensions = [], ...sources }: Sources,
): CompletionResult => {
  const current = line.at(-1) ?? '';
  if (line[0] === 'help' && line.length > 1) return helpWords(root, line.slice(1), sources);
  const walked = walk(root, line.slice(0, -1), sources);
  const { at, args, flags, pending, isOver } = walked;
  if (pending) return flagValues(pending, current, '', sources);
  if (isOver) return { candidates: [], files: 'file' };
  const assigned = /^--([^=]+)=(.*)$/s.exec(current);
  if (assigned) {
    const flag = flags[assigned[1] ?? ''];
    return flag ? flagValues(flag, assigned[2] ?? '', `--${assigned[1]}=`, sources) : { candidates: [] };
  }
  if (current.startsWith('-')) return { candidates: flagNames(flags, current) };
  if (at.sub && args === 0) {
    const programs = extensions.filter(({ word }) => !aliases.has(word) && !Object.hasOwn(root.sub, word));
    const named = [...[...aliases].map(([word, about]) => ({ word, about: `Alias: ${about}` })), ...programs];
    const more =
      at.sub === root.sub ? [{ word: 'help', about: 'Help about commands and topics' }, ...named] : [];
    const values = argumentValues(walked, current, sources);
    return {
      ...values,
      candidates: [...starting([...words(at.sub), ...more], current), ...values.candidates],
    };
  }
  return argumentValues(walked, current, sources);
};
/**
 * Returns the candidates for the last word of a line. `typed` ends with the word under the cursor, which may
 * be empty. Pure.
 */
export const completions = (root: Root, typed: readonly string[], sources: Sources): CompletionResult => {
  const { line, before = '' } = expandLine(root, typed, sources.aliases ?? new Map());
  const found = completeLine(root, line, sources);
  if (before === '') return found;
  const candidates = found.candidates.flatMap((one) =>
    one.word.startsWith(before) ? [{ ...one, word: one.word.slice(before.length) }] : [],
  );
  return { ...found, candidates };
};

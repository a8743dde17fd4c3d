import type { Context, Explain, Reach, Runtime } from '../api/context.ts';
import type { Argument, Effect, Example, Flag, Flags, Values, ValuesOf } from '../core/flag.ts';
import { bare, bool, duration, type Field, list, str } from '../core/field.ts';
import { canChange, type Operation, type ServiceInfo } from '../core/operation.ts';
import { type Problem, problem, AppError } from '../core/problem.ts';
import type { Result } from '../core/result.ts';
import type { Choice } from '../platform/host.ts';
import { nearest } from '../core/text.ts';

type None = Record<never, never>;
type CommandText = {
  /** All words: `['tracker', 'labels', 'create']`. */
  readonly path: readonly string[];
  readonly summary: string;
  /** Paragraphs under the summary in help. */
  readonly about?: string;
  readonly examples?: readonly Example[];
  readonly hidden?: true;
  readonly deprecated?: string;
  /** For a command that acts in its own way and cannot show what it would do: --dry-run is refused, and this is what to do instead. */
  readonly noDryRun?: string;
  /** Effects that it has without a flag: `tracker files download` writes a file. */
  readonly effects?: readonly Effect[];
  /** Its result is a check: --report writes what it found. */
  readonly isCheck?: true;
  /** It runs a program of the user's at the terminal: that one decides what Ctrl-C means, and this program ends after it. */
  readonly leavesSignalsToChild?: true;
  /** It compares the service with its input, or its journal has each row: a second run creates no record twice. */
  readonly readsBeforeWrites?: true;
  /** The row behind a derived command. */
  readonly operation?: { readonly service: ServiceInfo; readonly operation: Operation };
};
type CommandBody<F, A, V> = CommandText & {
  readonly args?: A;
  readonly flags?: F;
  /** Combinations of flags; no input or output. */
  check?(values: V): Problem[];
  run(context: Context, values: V): Promise<Result>;
};

/**
 * A command as the dispatcher sees it. Rows of a table are converted into commands; `defineCommand` creates
 * hand-written ones.
 */
export type Command = CommandBody<Flags, readonly Argument[], Values>;

/** A command whose values have the types of its flags and arguments. */
export const defineCommand = <
  const F extends Flags = None,
  const A extends readonly Argument[] = readonly [],
>(
  command: CommandBody<F, A, ValuesOf<F, A>>,
): Command => command;

/** A command with some parts replaced. Lazy parts stay lazy. */
export const extend = (base: Command, more: Partial<Command>): Command =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(base), ...Object.getOwnPropertyDescriptors(more) },
  ) as Command;
/** True if the command only reads: its request is a GET or a search. */
export const isReading = ({ operation }: Command): boolean =>
  operation !== undefined && !canChange(operation.operation);

/** A program and its arguments, after `--`. */
export const commandArgument = {
  name: 'command',
  effects: ['runs'],
  field: list(str()),
  summary: 'The command and its arguments',
  rest: true,
  allowsEmpty: true,
} as const satisfies Argument;
/** The time between two requests of a command that polls. */
export const intervalFlag = {
  field: duration(),
  summary: 'Time between two requests (default: 10s)',
  value: 'duration',
} as const satisfies Flag;
export const watchFlags = {
  watch: { effects: [], field: bool(), summary: 'Print each added, changed or removed record until Ctrl-C' },
  interval: { ...intervalFlag, summary: 'Time between two requests of --watch (default: 10s)' },
} as const satisfies Flags;
/** Columns that --watch adds to the record. */
export const watchColumns = ['event', 'at', 'changes'] as const;
/** True for a page of a list: its rows and the mark of the next page. */
const isPage = (field: Field): boolean => {
  const inner = bare(field);
  return inner.type === 'object' && ('nextPageToken' in inner.fields || 'next' in inner.fields);
};
/** True if the command reads a list of records: its row returns an array, a page, or a page for each kind. */
export const isList = (command: Command): boolean => {
  const returns = command.operation?.operation.returns;
  if (returns === undefined || !isReading(command)) return false;
  const inner = bare(returns);
  if (inner.type !== 'object') return inner.type === 'array';
  return isPage(inner) || Object.values(inner.fields).some(isPage);
};
/** Gives a command that lists records the flag --watch. Other commands stay the same. */
export const withWatch = (command: Command): Command => {
  if (!isList(command)) return command;
  return extend(command, {
    get flags() {
      return { ...command.flags, ...watchFlags };
    },
    check: (values) => [
      ...(command.check?.(values) ?? []),
      ...(values.interval !== undefined && values.watch !== true
        ? [problem('--interval', 'rule', 'requires --watch')]
        : []),
    ],
    run: async (context, { watch, interval, ...values }) => {
      if (watch !== true) return command.run(context, values);
      const { watchList } = await import('./watch-list.ts');
      const read = (own: Context) => command.run(own, values);
      return watchList(context, command, read, interval as string | undefined);
    },
  });
};

export type Group = {
  readonly name: string;
  readonly summary: string;
  readonly section: 'Work' | 'Cluster' | 'Tools';
  /** The headings of the help of the group, in order, with the words below each: `{ Snapshots: 'snapshot restore' }`. */
  readonly parts?: Readonly<Record<string, string>>;
  /** The commands that the words may name; without words, all. */
  readonly load: (words?: readonly string[]) => Promise<readonly Command[]>;
  /** Returns the actions that fix an error response of the named service. */
  readonly explain?: () => Promise<Explain>;
};

/**
 * What the dispatcher runs. It receives this value and knows no command, no service and no mock server:
 * `commands/program.ts` is the only list.
 */
export type Program = {
  readonly groups: readonly Group[];
  /** The services of one command; what it started ends with `close`. */
  makeReach(runtime: Runtime): Promise<Reach>;
  /** Records of a kind that a person may pick from, with their names. */
  choicesOf(context: Context, kind: string): Promise<readonly Choice[]>;
};

export type CommandMatch =
  | { readonly kind: 'command'; readonly command: Command; readonly used: number }
  /** The words name a group; `commands` are those below it. */
  | { readonly kind: 'group'; readonly words: readonly string[]; readonly commands: readonly Command[] };
const starts = (path: readonly string[], words: readonly string[]): boolean =>
  words.every((word, i) => path[i] === word);
/** What other programs call the same thing. */
const alsoCalled: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  all: ['list'],
  show: ['get', 'status'],
  view: ['get', 'list'],
  describe: ['get', 'status'],
  read: ['get'],
  info: ['get', 'status'],
  rename: ['update'],
  add: ['create'],
  new: ['create'],
  create: ['save', 'add'],
  edit: ['update'],
  set: ['update', 'put'],
  write: ['put'],
  modify: ['update'],
  assign: ['update'],
  rm: ['delete', 'del', 'remove', 'unset'],
  del: ['delete', 'remove'],
  delete: ['remove', 'del', 'unset'],
  remove: ['delete', 'del', 'unset'],
  refresh: ['update'],
};
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/s$/, '');
const guessWord = (typed: string, known: readonly string[]): string | undefined => {
  const words = Object.hasOwn(alsoCalled, typed) ? (alsoCalled[typed] ?? []) : [];
  const same = known.find((word) => singular(word) === singular(typed));
  return same ?? words.find((word) => known.includes(word)) ?? nearest(typed, known);
};
/** True if the number alone names the record that the command shows: 107, or the resource name labels/107. */
const isIdOf = ({ path, args = [], operation }: Command, typed: string): boolean => {
  const [field, ...others] = Object.values(operation?.operation.params ?? {}).map(bare);
  if (args.length !== 1 || others.length > 0 || !/^\d+$/.test(typed)) return false;
  if (field?.type !== 'string') return field?.type === 'integer';
  return field.pattern !== undefined && new RegExp(field.pattern).test(`${path.at(-2)}/${typed}`);
};
const unknownCommand = (
  typed: string,
  before: readonly string[],
  known: readonly string[],
  get?: Command,
): AppError => {
  // An ID after a resource is a record that the person wants to see.
  const isId = get !== undefined && isIdOf(get, typed);
  const close = isId ? undefined : guessWord(typed, known);
  const at = ['opsctl', ...before].join(' ');
  return new AppError(
    'usage',
    `${at}: unknown command ${JSON.stringify(typed)}${close ? `; did you mean ${close}?` : ''}`,
    {
      code: 'UNKNOWN_COMMAND',
      tryThis: [isId ? `${at} get ${typed}` : close ? `${at} ${close} --help` : `${at} --help`],
    },
  );
};
export const findGroup = (groups: readonly Group[], word: string): Group => {
  const group = groups.find(({ name }) => name === word);
  if (group === undefined)
    throw unknownCommand(
      word,
      [],
      groups.map(({ name }) => name),
    );
  return group;
};
/**
 * Returns the command for the words: the longest path that matches. The remaining words are its arguments.
 */
export const findCommand = (commands: readonly Command[], words: readonly string[]): CommandMatch => {
  let best: Command | undefined;
  for (const command of commands) {
    if (starts(words, command.path) && command.path.length > (best?.path.length ?? 0)) best = command;
  }
  if (best) return { kind: 'command', command: best, used: best.path.length };
  let depth = 0;
  while (
    depth < words.length &&
    commands.some(({ path }) => path.length > depth + 1 && starts(path, words.slice(0, depth + 1)))
  )
    depth += 1;
  const below = commands.filter(({ path }) => starts(path, words.slice(0, depth)));
  if (depth === words.length) return { kind: 'group', words, commands: below };
  const shown = below.filter(({ hidden }) => !hidden);
  throw unknownCommand(
    words[depth] ?? '',
    words.slice(0, depth),
    [...new Set(shown.map(({ path }) => path[depth] ?? ''))],
    shown.find(({ path }) => path.length === depth + 1 && path[depth] === 'get'),
  );
};

/** Words of other command lines, and the command that does the same here. */
export const synonyms: Readonly<Record<string, string>> = {
  me: 'whoami',
  'auth whoami': 'whoami',
  'tracker me': 'tracker members me',
  'tracker whoami': 'tracker members me',
  signin: 'login',
  'sign-in': 'login',
  'auth login': 'login',
  signout: 'logout',
  'sign-out': 'logout',
  open: 'tracker stories open',
  browse: 'tracker stories open',
  edit: 'tracker stories edit',
  issue: 'tracker stories list',
  issues: 'tracker stories list',
  story: 'tracker stories list',
  stories: 'tracker stories list',
  tickets: 'tracker stories list',
  'tracker issues': 'tracker stories list',
  'tracker list': 'tracker stories list',
  'tracker story': 'tracker stories list',
  'tracker stories close': 'tracker stories done',
  'tracker stories copy': 'tracker stories clone',
  'tracker stories duplicate': 'tracker stories clone',
  'tracker stories transition': 'tracker stories move',
  'tracker stories browse': 'tracker stories open',
  sprint: 'tracker iterations current',
  sprints: 'tracker iterations list',
  'tracker sprints': 'tracker iterations list',
  users: 'tracker members list',
  'tracker users': 'tracker members list',
  'tracker teams': 'tracker groups list',
  'tracker import': 'tracker bulk',
  'kv metrics': 'kv top',
  'kv backup': 'kv snapshot save',
  backup: 'kv snapshot save',
  'kv members': 'kv member list',
  history: 'kv history',
  context: 'config profiles',
  contexts: 'config profiles',
  profile: 'config profiles',
  settings: 'config list',
  env: 'config list',
  curl: 'api',
  revert: 'undo',
  rollback: 'kv rollback',
  jira: 'tracker stories list',
  gh: 'tracker stories list',
  'get stories': 'tracker stories list',
  'get labels': 'labels list',
  'get epics': 'tracker epics list',
  get: 'tracker stories get',
  describe: 'tracker stories get',
  'describe story': 'tracker stories get',
  create: 'tracker stories create',
  delete: 'tracker stories delete',
  logs: 'audit',
  log: 'audit',
  'audit-log': 'audit',
  'tracker stories reopen': 'tracker stories start',
  'tracker stories comment': 'tracker story-comments create',
  'tracker comment': 'tracker story-comments create',
  'tracker comments': 'tracker story-comments list',
  'tracker stories comments': 'tracker story-comments list',
  'tracker my': 'tracker stories mine',
  mine: 'tracker stories mine',
  'tracker mine': 'tracker stories mine',
  'tracker undo': 'undo',
  'labels undo': 'undo',
  'labels push': 'labels apply',
  'labels sync': 'labels apply',
  'labels pull': 'labels export',
  'labels import': 'labels apply',
  'auth print-access-token': 'auth token',
  'auth refresh-token': 'auth refresh',
  'auth accounts': 'auth list',
  'auth use': 'auth switch',
  plugin: 'extension list',
  plugins: 'extension list',
  'plugin list': 'extension list',
  extensions: 'extension list',
  'extension upgrade': 'extension install',
  'config view': 'config list',
  'config show': 'config list',
  'config get-contexts': 'config profiles',
  'config current-context': 'config profiles',
  'config use-context': 'config use',
  'kv ls': 'kv get',
  'kv list': 'kv clusters',
  'kv clusters list': 'kv clusters',
  'kv cluster list': 'kv clusters',
  'kv cluster-health': 'kv health',
  'kv snapshot restore': 'kv restore',
  'kv snapshot create': 'kv snapshot save',
  'kv backups': 'kv snapshot list',
  'kv leader': 'kv move-leader',
  'kv logs': 'kv history',
  'kv audit': 'kv history',
  'kv cancel': 'kv abort',
  'kv pause': 'kv hold set',
  'kv edit-config': 'kv config lint',
};
/** The command behind the words of another command line; the longest known beginning counts. */
const findSynonym = (words: readonly string[]): string | undefined => {
  for (let count = words.length; count > 0; count -= 1) {
    const known = words.slice(0, count).join(' ');
    if (Object.hasOwn(synonyms, known)) return synonyms[known];
  }
  return undefined;
};
const most = 3;
/** An unknown command may be one of another group: `config lint` is `kv config lint`, `upgrade` is `kv upgrade`. */
export const withSuggestion = async (
  groups: readonly Group[],
  error: AppError,
  words: readonly string[],
): Promise<AppError> => {
  const synonym = findSynonym(words);
  if (synonym !== undefined)
    return new AppError('usage', error.message.replace(/; did you mean .*$/, ''), {
      ...error.detail,
      tryThis: [`opsctl ${synonym} --help`],
    });
  const all = (await Promise.all(groups.map((group) => group.load())))
    .flat()
    .filter(({ hidden }) => hidden !== true);
  const shortest = groups.some(({ name }) => name === words[0]) ? 2 : 1;
  for (let count = words.length; count >= shortest; count -= 1) {
    const end = words.slice(0, count).join(' ');
    const found = all.map(({ path }) => path.join(' ')).filter((path) => path.endsWith(` ${end}`));
    if (found.length > 0 && found.length <= most)
      return new AppError('usage', error.message, {
        ...error.detail,
        tryThis: found.map((path) => `opsctl ${path} --help`),
      });
  }
  return error;
};

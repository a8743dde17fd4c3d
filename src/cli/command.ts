import type { Context, Explain, Reach, Runtime } from '../api/context.ts';
import type { Argument, Effect, Example, Flag, Flags, Values, ValuesOf } from '../core/flag.ts';
import { bare, bool, duration, type Field } from '../core/field.ts';
import type { Operation, ServiceInfo } from '../core/operation.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { Result } from '../core/result.ts';
import type { Choice } from '../platform/host.ts';

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
  operation?.operation.method === 'GET' || operation?.operation.path.endsWith('/search') === true;

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
export const watchColumns = ['event', 'at'] as const;
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

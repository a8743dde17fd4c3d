import type { Context, Explain, Reach, Runtime } from '../api/context.ts';
import type { Argument, Effect, Example, Flags, Values, ValuesOf } from '../core/flag.ts';
import type { Operation, ServiceInfo } from '../core/operation.ts';
import type { Problem } from '../core/problem.ts';
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

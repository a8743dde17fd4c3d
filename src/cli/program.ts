import type { Context, Explain, Reach, Runtime } from '../api/context.ts';
import type { Choice } from '../platform/host.ts';
import type { Command } from './command.ts';

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

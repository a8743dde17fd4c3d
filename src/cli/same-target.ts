import { AppError, type Problem, reword } from '../core/problem.ts';
import type { Result } from '../core/result.ts';
import { shellLine } from '../core/shell.ts';
import type { Command } from './command.ts';
import type { Context } from '../api/context.ts';
import type { Flags } from '../core/flag.ts';
import { findGroup } from './find.ts';
import type { Group } from './program.ts';

type Known = { readonly path: string; readonly flags: Flags };

/** Adds these flags to the opsctl commands in a text, if the commands accept them. Pure. */
export const withFlags = (
  text: string,
  flags: Readonly<Record<string, string>>,
  commands: readonly Known[],
): string =>
  text.replaceAll(/\bopsctl((?: [a-z][a-z-]*)+)/g, (line, words: string, at: number) => {
    const named = commands
      .filter(({ path }) => words === ` ${path}` || words.startsWith(` ${path} `))
      .toSorted((one, other) => other.path.length - one.path.length)[0];
    if (named === undefined) return line;
    const rest = text.slice(at + line.length);
    const taken = Object.entries(flags).filter(
      ([name]) => named.flags[name] !== undefined && !rest.startsWith(` --${name} `),
    );
    const added = taken.map(([name, value]) => ` ${shellLine([`--${name}`, value])}`).join('');
    const after = ` ${named.path}`.length;
    return `opsctl${words.slice(0, after)}${added}${words.slice(after)}`;
  });

type Words = (text: string) => string;

/** `next` of a report lists commands. */
const nextIn = (data: unknown, words: Words): unknown => {
  if (typeof data !== 'object' || data === null || !('next' in data) || !Array.isArray(data.next))
    return data;
  return { ...data, next: data.next.map((one) => (typeof one === 'string' ? words(one) : one)) };
};

const problemWith = (one: Problem, words: Words): Problem => ({
  ...one,
  message: words(one.message),
  ...(one.hint === undefined ? {} : { hint: words(one.hint) }),
});

const errorWith = (error: AppError, words: Words): AppError => {
  const { tryThis, problems, data } = error.detail;
  const detail = {
    ...error.detail,
    ...(tryThis === undefined ? {} : { tryThis: tryThis.map(words) }),
    ...(problems === undefined ? {} : { problems: problems.map((one) => problemWith(one, words)) }),
    ...(data === undefined ? {} : { data: nextIn(data, words) }),
    cause: error,
  };
  return reword(error, detail, words(error.message));
};

/** An error may come after some rows. */
async function* rowsWith(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
  words: Words,
): AsyncGenerator<unknown> {
  try {
    yield* rows;
  } catch (error) {
    throw error instanceof AppError ? errorWith(error, words) : error;
  }
}

type Chunks = Extract<Result, { kind: 'raw' }>['chunks'];
const chunksWith = (chunks: Chunks, words: Words): Chunks => {
  if (!Array.isArray(chunks)) return chunks;
  const pieces: readonly (string | Uint8Array)[] = chunks;
  return pieces.map((one) => (typeof one === 'string' ? words(one) : one));
};

/**
 * Data from the store stays unchanged. Only messages, and texts that are marked as containing commands, are
 * completed.
 */
const resultWith = (result: Result, words: Words): Result => {
  const { view } = result;
  const namesCommands = view?.namesCommands === true;
  const { text, message } = view ?? {};
  const named =
    view === undefined
      ? {}
      : {
          view: {
            ...view,
            ...(text === undefined || !namesCommands ? {} : { text: words(text) }),
            ...(message === undefined ? {} : { message: words(message) }),
          },
        };
  switch (result.kind) {
    case 'rows':
      return { ...result, ...named, rows: rowsWith(result.rows, words) };
    case 'record':
      return { ...result, ...named, ...(namesCommands ? { data: nextIn(result.data, words) } : {}) };
    case 'raw':
      return namesCommands ? { ...result, chunks: chunksWith(result.chunks, words) } : result;
    default:
      return { ...result, ...named };
  }
};

const speaking = (context: Context, words: Words): Context => ({
  ...context,
  log: {
    ...context.log,
    info: (text) => context.log.info(words(text)),
    warn: (text) => context.log.warn(words(text)),
  },
});

/** Suggested commands act on the same target as this command, so that users can paste them. */
export const withSameTarget = (
  command: Command,
  names: readonly string[],
  groups: readonly Group[],
): Command => ({
  ...command,
  run: async (context, values) => {
    const flags = Object.fromEntries(names.map((name) => [name, String(values[name])]));
    const known = (await findGroup(groups, command.path[0] ?? '').load()).map(
      ({ path, flags: own = {} }) => ({
        path: path.join(' '),
        flags: own,
      }),
    );
    const words = (text: string): string => withFlags(text, flags, known);
    try {
      return resultWith(await command.run(speaking(context, words), values), words);
    } catch (error) {
      throw error instanceof AppError ? errorWith(error, words) : error;
    }
  },
});

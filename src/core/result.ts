import type { Advice, NextStep } from './next.ts';
import type { Category } from './problem.ts';

/** The table layout of the data. Other formats, such as `-o json`, ignore it. */
export type View = {
  /** Dotted paths into a record: `id`, `stats.num_stories`. The most important column is the first: a narrow terminal drops the last. */
  readonly columns?: readonly string[];
  /** More columns, for `-o wide`. */
  readonly wideColumns?: readonly string[];
  /** Turns a batch of rows into rows for people, such as rows with names in place of ids. Tables call it, no other format does. */
  readonly toTableRows?: (batch: readonly unknown[]) => Promise<readonly unknown[]>;
  /** The rows of a record for a spreadsheet: `-o csv` prints them instead of one row with lists in its cells. */
  readonly csvRows?: readonly unknown[];
  /** Draws a record for a person. Tables call it unless --columns or --all-fields asks for fields. */
  readonly drawRecord?: (data: unknown, width: number) => Promise<string>;
  /** Printed instead of `nothing found` if a list is empty: the command that adds the first row. */
  readonly ifEmpty?: NextStep;
  /** One line on stderr with the result: `label 4711 created`. Not printed with --quiet. */
  readonly message?: Advice;
  /** The drawing that a terminal shows instead of the table. */
  readonly text?: string;
  /** `text` is sentences and a list for a person: a narrow terminal wraps its lines between words. Any other text keeps its bytes. */
  readonly isProse?: true;
  /** `text` states what the command did: --quiet omits it unless a format is asked for. */
  readonly isReport?: true;
  /** The field that `-o name` prints; `id` unless given. */
  readonly name?: string;
  /** Commands look the name up: a text that they read as an ID or a flag is printed as `name:120`. */
  readonly areNamesResolved?: boolean;
  /** What a check found, for --report and the annotations of a CI service; asked for when the rows have been written. */
  readonly findings?: () => readonly CheckFinding[];
};
/** What a command hands back. It never prints: `output` renders this, `cli` maps it to an exit code. */
export type Result =
  | { readonly kind: 'record'; readonly data: unknown; readonly view?: View; readonly exit?: Category }
  /** Rows are printed as they come; the first before the last is known. */
  | {
      readonly kind: 'rows';
      readonly rows: Iterable<unknown> | AsyncIterable<unknown>;
      /** `rows` gives lists instead: of rows that came together and are written in one piece. */
      readonly inBatches?: true;
      /** Each row is its JSON text in UTF-8. A consumer parses it if it needs the value. */
      readonly encoded?: true;
      readonly view?: View;
      /** A list of records to read: a pager shows it while it arrives. */
      readonly paged?: true;
      readonly exit?: () => Category | 'done';
      /** The status if the reader stopped before the last row (default done). */
      readonly unread?: () => Category | 'done';
    }
  /** Ready-made bytes: a script, a document, a file. */
  | {
      readonly kind: 'raw';
      readonly chunks: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
      readonly exit?: Category;
      readonly view?: View;
      /** Text to be read: a pager may show it. */
      readonly paged?: true;
    }
  | { readonly kind: 'nothing'; readonly view?: View; readonly exit?: Category };
export const recordResult = (data: unknown, view?: View, exit?: Category): Result => ({
  kind: 'record',
  data,
  view,
  exit,
});
export const rowsResult = (rows: Iterable<unknown> | AsyncIterable<unknown>, view?: View): Result => ({
  kind: 'rows',
  rows,
  view,
});
export const rawResult = (...chunks: (string | Uint8Array)[]): Extract<Result, { kind: 'raw' }> => ({
  kind: 'raw',
  chunks,
});
export const nothing = (message?: string): Result => ({
  kind: 'nothing',
  view: message === undefined ? undefined : { message },
});

/** One finding of a check, as reports of CI services show it. */
export type CheckFinding = {
  /** The rule: `no-alarms`, `badge_contrast`, `difference`. */
  readonly rule: string;
  readonly level: Level;
  readonly message: string;
  /** What it is about: a member, a label, a row. */
  readonly subject?: string;
  readonly hint?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
};

/**
 * The result of a check. All doctors and preflight checks use these values. `unknown`: the check could not be
 * made.
 */
export type Level = 'pass' | 'unknown' | 'warn' | 'fail';

/** A page of help as data: the terminal, the Markdown reference and the man pages are made from the same one. */
export type Block =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  /** Terms with what they mean: flags, arguments, commands. */
  | { readonly kind: 'terms'; readonly rows: readonly (readonly [string, string])[] }
  /** Shell commands; `note` states their purpose. A long line breaks with a backslash, but a line of output or of a file does not. */
  | {
      readonly kind: 'shell';
      readonly lines: readonly string[];
      readonly note?: string;
      readonly isVerbatim?: true;
    };
export type Page = {
  /** `opsctl tracker labels create`, `opsctl help output`. */
  readonly title: string;
  readonly summary: string;
  readonly blocks: readonly Block[];
};
export const heading = (text: string): Block => ({ kind: 'heading', text });
export const prose = (text: string): Block => ({ kind: 'text', text });
export const terms = (rows: readonly (readonly [string, string])[]): Block => ({ kind: 'terms', rows });
export const shell = (note: string | undefined, ...lines: string[]): Block =>
  note === undefined ? { kind: 'shell', lines } : { kind: 'shell', lines, note };

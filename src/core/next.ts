/** Words and arguments of a command as a line to paste. */
export type WriteCommand = (command: readonly string[]) => string;
const writePlain: WriteCommand = (command) => `opsctl ${command.join(' ')}`;
const append = (before: string, text: string): string =>
  before === '' || before.endsWith('(') || /^[,;:.)]/.test(text) ? `${before}${text}` : `${before} ${text}`;

type StepParts = {
  /** What to do before the command: `make room on its disk, then`. */
  readonly first?: string;
  /** The words and arguments after `opsctl`: `['kv', 'resume', '--yes']`. */
  readonly command: readonly string[];
  /** The reason, or the alternative: `, to give it up`, `shows every finding`. */
  readonly why?: Advice;
};
/**
 * A command of this program to run next. Each command line renders it once, with the flags that select its
 * target. Files, journals and `-o json` keep the plain text.
 */
export class NextStep {
  readonly first: string;
  readonly command: readonly string[];
  readonly why: Advice | undefined;
  constructor({ first = '', command, why }: StepParts) {
    this.first = first;
    this.command = command;
    this.why = why;
  }
  /** Returns the command with additional words after it. */
  with(more: string): NextStep {
    const why = this.why === undefined ? more : extend(this.why, more);
    return new NextStep({ first: this.first, command: this.command, why });
  }
  text(write: WriteCommand): string {
    const line = append(this.first, write(this.command));
    return this.why === undefined ? line : append(line, adviceText(this.why, write));
  }
  toString(): string {
    return this.text(writePlain);
  }
  toJSON(): string {
    return this.toString();
  }
}
/** A sentence of a message or a hint. A command in it is data. */
export type Advice = string | NextStep;

/** A command to run next, with the reason or the alternative behind it. */
export const next = (command: readonly string[], why?: Advice): NextStep =>
  new NextStep({ command, ...(why === undefined ? {} : { why }) });
/** Returns the command with an action that precedes it. */
export const after = (first: string, command: readonly string[], why?: Advice): NextStep =>
  new NextStep({ first, command, ...(why === undefined ? {} : { why }) });
/** A command line that a record keeps as text. */
export const nextFromLine = (line: string): NextStep => next(line.split(' ').slice(1));
const extend = (advice: Advice, more: string): Advice =>
  typeof advice === 'string' ? append(advice, more) : advice.with(more);

/** The text of an advice. Without `write`, its commands have only their own flags. */
export const adviceText = (advice: Advice, write: WriteCommand = writePlain): string =>
  typeof advice === 'string' ? advice : advice.text(write);
/** A noncharacter of Unicode, which no text contains. */
export const WORD_GLUE = '\uFDD0';
/** Joins the words of a command to paste, so that `wrapMessage` keeps it on one line. */
export const keepWhole = (text: string): string => text.replaceAll(' ', WORD_GLUE);
/** Renders an advice with the flags of the current line. `isWrapped`: for `wrapMessage`, which keeps its commands on one line. */
export type ShowAdvice = (advice: Advice, isWrapped?: boolean) => string;
/** Returns the renderer whose commands are written in this way. */
export const makeShowAdvice =
  (write: WriteCommand): ShowAdvice =>
  (advice, isWrapped = false) =>
    adviceText(advice, isWrapped ? (command) => keepWhole(write(command)) : write);
/** Does not add flags: for tests, files and other programs. */
export const showPlain: ShowAdvice = makeShowAdvice(writePlain);

/** Steps are in findings and lists of next steps, never deeper than this. */
const deepestStep = 6;
/** Returns the data with the text of each step instead of the step, because only JSON supports steps. */
export const plainAdvice = (data: unknown, depth = 0): unknown => {
  if (depth > deepestStep) return data;
  if (data instanceof NextStep) return data.toString();
  if (Array.isArray(data)) {
    const items = data.map((item) => plainAdvice(item, depth + 1));
    return items.some((item, at) => item !== data[at]) ? items : data;
  }
  if (typeof data !== 'object' || data === null) return data;
  const entries = Object.entries(data);
  const plain = entries.map(([key, value]) => [key, plainAdvice(value, depth + 1)] as const);
  return plain.some(([, value], at) => value !== entries[at]?.[1]) ? Object.fromEntries(plain) : data;
};

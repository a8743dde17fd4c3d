import type { Block, Page } from '../core/result.ts';
import type { Host } from '../platform/host.ts';
import type { OutputOptions } from './types.ts';
import { wrap } from '../core/format.ts';

/** The line width if the width of the reader's terminal is unknown. Some terminals report 0. */
export const USUAL_WIDTH = 80;
/** Longer lines of prose are hard to read. */
const WIDEST = 120;
const NARROWEST = 40;
const LEFT = 34;
/** Below this width, text appears under its term instead of next to it. */
const LEAST_RIGHT = 30;

export const helpWidth = (columns: number): number =>
  Math.max(NARROWEST, Math.min(WIDEST, columns || USUAL_WIDTH));

/** Two columns, with the second one wrapped. On a narrow terminal the text appears under its term. */
const twoColumns = (rows: readonly (readonly [string, string])[], width: number): string[] => {
  const longest = Math.max(0, ...rows.map(([left]) => left.length));
  const left = Math.min(LEFT, longest, Math.max(8, width - LEAST_RIGHT - 4));
  if (width - left - 4 < LEAST_RIGHT && longest > left && rows.some(([, text]) => text !== ''))
    return rows.flatMap(([term, text]) => stackTerm(term, text, width));
  const indent = ' '.repeat(left + 4);
  return rows.map(([term, text]) => {
    if (text === '') return `  ${wrap(term, width - 2, rows.length === 1 ? '  ' : '      ')}`.trimEnd();
    if (text.split(/\s+/).some((word) => word.length > width - left - 4))
      return stackTerm(term, text, width).join('\n');
    const gap = term.length > left ? `\n${indent}` : ' '.repeat(left - term.length + 2);
    return `  ${term}${gap}${wrap(text, width - left - 4, indent)}`.trimEnd();
  });
};

const stackTerm = (term: string, text: string, width: number): string[] => [
  `  ${wrap(term, width - 2, '      ')}`,
  ...(text === '' ? [] : [`      ${wrap(text, width - 6, '      ')}`]),
];

/** Words of a shell line. A quoted string is one word. */
const shellWords = (line: string): string[] =>
  line.match(/(?:'[^']*'|"(?:\\.|[^"])*"|[^\s'"]|\\.)+/g) ?? [line];

/** A command line that can be pasted: broken with a backslash where it is longer than the page. */
const commandLine = (line: string, width: number): string[] => {
  if (line.length <= width || line.includes('\n')) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of shellWords(line)) {
    const next = current === '' ? word : `${current} ${word}`;
    if (next.length > width - 2 && current !== '') {
      lines.push(`${current} \\`);
      current = `  ${word}`;
    } else current = next;
  }
  return [...lines, current];
};

const noteLine = (note: string | undefined, width: number): string[] =>
  note === undefined ? [] : [`  # ${wrap(note, width - 4, '  # ')}`];

/** `slow: every answer waits`. */
const isTerm = (line: string): boolean => /^\S[^.]{0,40}: /.test(line);
/** A new list entry has less indentation than the continuation lines. Sentences are not indented. */
const proseLines = (text: string, width: number): string[] => {
  const lines = text.split('\n');
  return lines.length > 1 && lines.every(isTerm)
    ? lines.map((line) => wrap(line, width - 2, '  '))
    : lines.map((line) => wrap(line, width, ''));
};

const blockLines = (block: Block, width: number): string[] => {
  switch (block.kind) {
    case 'heading':
      return [block.text];
    case 'text':
      return [...proseLines(block.text, width), ''];
    case 'terms':
      return [...twoColumns(block.rows, width), ''];
    case 'shell':
      return [
        ...noteLine(block.note, width),
        ...block.lines
          .flatMap((line) => (block.isVerbatim ? [line] : commandLine(line, width - 2)))
          .map((line) => `  ${line}`.trimEnd()),
        '',
      ];
  }
};

/** A page for a terminal of that width. Examples that follow each other stand together. */
export const pageText = ({ summary, blocks }: Page, width: number): string => {
  const lines = [wrap(summary, width, ''), ''];
  for (const [i, block] of blocks.entries()) {
    const own = blockLines(block, width);
    const isFollowed = block.kind === 'shell' && blocks[i + 1]?.kind === 'shell';
    for (const line of isFollowed ? own.slice(0, -1) : own) lines.push(line);
  }
  return `${lines.join('\n').trimEnd()}\n`;
};

const USUAL_ROWS = 24;

/**
 * The pager of this run, by git's rules: only on a terminal, and OPSCTL_PAGER beats PAGER beats `less`. Empty
 * or `cat` disables it. There is no pager in CI, where it would hang, or on a terminal that cannot move its
 * cursor.
 */
export const pagerOf = (
  { terminal, env }: Pick<Host, 'terminal' | 'env'>,
  { pager }: Pick<OutputOptions, 'pager'>,
): string | undefined => {
  if (pager === false || !terminal.stdout.isTty || !terminal.stdin.isTty || env.CI || env.TERM === 'dumb')
    return undefined;
  const command = (env.OPSCTL_PAGER ?? env.PAGER ?? 'less').trim();
  return command === '' || command === 'cat' ? undefined : command;
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: colors take no place
const COLORS = /\u001b\[[0-9;]*m/g;

/** The number of terminal lines of a text; longer lines wrap. */
const linesOn = (text: string, columns: number): number =>
  text
    .replace(COLORS, '')
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);

/** Writes a whole text: through the pager when it is longer than the screen. */
export const writePaged = async (text: string, host: Host, options: OutputOptions): Promise<void> => {
  const { stdout, page } = host.terminal;
  const command = pagerOf(host, options);
  const isLong =
    command !== undefined && linesOn(text, stdout.columns || USUAL_WIDTH) > (stdout.rows || USUAL_ROWS);
  if (isLong && page !== undefined) {
    options.screen?.onWritten?.();
    if (await page(command, text)) return;
  }
  await stdout.write(text);
};

/** Text is kept until the pipe to the pager cannot hold it, so that it can be written if no pager starts. */
const KEPT_LENGTH = 256 * 1024;
/** Fewer lines than the screen has wait this long for more; then they are written, so that a person sees them arrive. */
const HOLD_MS = 1000;
const leftPager = (): Error => Object.assign(new Error('the pager was closed'), { code: 'EPIPE' });
/** Text that arrives in pieces. The pager starts as soon as the text is longer than the screen, unless that takes too long. */
type Screen = NonNullable<OutputOptions['screen']>;
class PagedText {
  readonly #host: Host;
  readonly #command: string;
  readonly #screen: Screen;
  /** Rejects when the reader leaves the pager before the end of the text. */
  readonly left: Promise<never>;
  #leave: () => void = () => undefined;
  #kept = '';
  #queue: string[] = [];
  #isOver = false;
  #hasLeft = false;
  readonly #hold = new AbortController();
  /** The text is written without a pager. */
  #plain: Promise<void> | undefined;
  #shown: Promise<boolean> | undefined;
  #wakeReader: () => void = () => undefined;
  #wakeWriter: () => void = () => undefined;

  constructor(host: Host, command: string, screen: Screen) {
    this.#host = host;
    this.#command = command;
    this.#screen = screen;
    this.left = new Promise((_, reject) => {
      this.#leave = () => reject(leftPager());
    });
    this.left.catch(() => undefined);
  }
  async write(text: string): Promise<void> {
    if (this.#plain !== undefined) {
      await this.#plain;
      return this.#host.terminal.stdout.write(text);
    }
    if (this.#kept === '' && text !== '') this.#limitHold();
    if (this.#kept.length < KEPT_LENGTH) this.#kept += text;
    if (this.#shown !== undefined) this.#queue.push(text);
    else if (!this.#isLong()) return;
    else this.#start();
    this.#wakeReader();
    while (this.#queue.length > 0 && !this.#hasLeft)
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    if (!this.#hasLeft) return;
    if (await this.#shown) throw leftPager();
    await this.#writePlain();
  }
  /** Waits for the reader of the pager. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#hold.abort();
    this.#wakeReader();
    if (this.#shown !== undefined) this.#screen.onWritten?.();
    if (this.#plain !== undefined || (await this.#shown) !== true) await this.#writePlain();
  }
  #isLong(): boolean {
    const { columns, rows } = this.#host.terminal.stdout;
    return linesOn(this.#kept, columns || USUAL_WIDTH) > (rows || USUAL_ROWS);
  }
  #writePlain(): Promise<void> {
    this.#plain ??= this.#host.terminal.stdout.write(this.#kept);
    return this.#plain;
  }
  #limitHold(): void {
    const over = this.#host
      .sleep(HOLD_MS, this.#hold.signal)
      .then(() => (this.#shown === undefined ? this.#writePlain() : undefined));
    // The text has ended or a pager has started. The next text, or the end, reports a failed write.
    void over.catch(() => undefined);
  }
  #start(): void {
    this.#hold.abort();
    this.#queue = [this.#kept];
    this.#screen.isTaken = true;
    const { page } = this.#host.terminal;
    this.#shown = (page?.(this.#command, this.#pieces()) ?? Promise.resolve(false)).then((isShown) => {
      this.#hasLeft = true;
      this.#screen.isTaken = false;
      this.#wakeWriter();
      if (isShown && !this.#isOver) {
        this.#leave();
        this.#screen.onLeft?.();
      }
      return isShown;
    });
  }
  async *#pieces(): AsyncGenerator<string> {
    for (;;) {
      const [piece] = this.#queue;
      if (piece !== undefined) {
        yield piece;
        this.#queue.shift();
        continue;
      }
      this.#wakeWriter();
      if (this.#isOver) return;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
  }
}
/** Writes a list through the pager while it arrives. A list that fits on the screen is written at its end, or after a second. */
export const streamPaged = async (
  host: Host,
  options: OutputOptions,
  write: (to: Host) => Promise<void>,
): Promise<void> => {
  const command = pagerOf(host, options);
  if (command === undefined) return write(host);
  const paged = new PagedText(host, command, options.screen ?? { isTaken: false });
  const decoder = new TextDecoder();
  const put = (text: string | Uint8Array): Promise<void> =>
    paged.write(typeof text === 'string' ? text : decoder.decode(text, { stream: true }));
  const stdout = Object.create(host.terminal.stdout, {
    write: { value: put },
  }) as typeof host.terminal.stdout;
  const terminal = Object.create(host.terminal, { stdout: { value: stdout } }) as Host['terminal'];
  try {
    // The next row may be a minute away when the reader leaves.
    await Promise.race([write(Object.create(host, { terminal: { value: terminal } }) as Host), paged.left]);
  } finally {
    await paged.end();
  }
};

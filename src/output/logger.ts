import { printable } from '../core/text.ts';
import { formatRow, messageColumns, wrapMessages } from '../core/format.ts';
import type { Host } from '../platform/host.ts';
import { type OutputOptions, type Redactor, signsFor, isColored, type Theme, themeFor } from './types.ts';
import { holdNote, isHeld, releaseNotes, waitsForEnd, waitsForPager } from './render.ts';

type Spinner = { update(text: string): void; stop(): void };
type Logger = {
  info(text: string, canWait?: boolean): void;
  warn(text: string): void;
  warnOnce(key: string, text: string): void;
  debug(text: string): void;
  status(text: string): Promise<Spinner>;
  hide(secret: string): void;
};

const silent: Spinner = { update: () => {}, stop: () => {} };
const CI_LINE_MS = 60_000;
/** A log keeps every line, so a long run without a terminal writes one line of progress each minute. */
const minuteLines = ({ elapsed }: Host, put: (text: string) => void): Spinner => {
  let shownAt = elapsed();
  return {
    update(text) {
      if (elapsed() - shownAt < CI_LINE_MS) return;
      shownAt = elapsed();
      put(text);
    },
    stop: () => {},
  };
};

/** A turning line is drawn over by anything else on the terminal, so that it steps aside for each message. */
class TurningLine {
  readonly #host: Host;
  readonly #clean: (text: string) => string;
  /** No text: no spinner is wanted. No line: it is hidden, or is being created. */
  #text: string | undefined;
  #line: Spinner | undefined;
  #isDrawing = false;
  constructor(host: Host, clean: (text: string) => string) {
    this.#host = host;
    this.#clean = clean;
  }
  async begin(first: string): Promise<Spinner> {
    this.#erase();
    this.#text = first;
    await this.#draw();
    return {
      update: (next) => {
        if (this.#text === undefined) return;
        this.#text = next;
        this.#line?.update(this.#clean(next));
      },
      stop: () => {
        this.#text = undefined;
        this.#erase();
      },
    };
  }
  aside(write: () => void): void {
    this.#erase();
    write();
    if (this.#text !== undefined) void this.#draw();
  }
  #erase(): void {
    this.#line?.stop();
    this.#line = undefined;
  }
  /** Messages in a burst draw one spinner: two on a terminal would draw over each other. */
  async #draw(): Promise<void> {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    try {
      const first = this.#clean(this.#text ?? '');
      const made = await this.#host.terminal.spinner(first);
      if (this.#text === undefined) made.stop();
      else this.#show(made, first);
    } finally {
      this.#isDrawing = false;
    }
  }
  /** The text may have changed while the spinner was created. */
  #show(made: Spinner, shown: string): void {
    this.#line = made;
    const now = this.#clean(this.#text ?? '');
    if (now !== shown) made.update(now);
  }
}

type Paint = (theme: Theme, text: string) => string;

/** Writes lines in order. Color is loaded at the first line that has one; those after it wait behind it. */
const lineWriter = (host: Host, options: OutputOptions, put: (shown: string) => void) => {
  const isPainted = isColored(options.color, host.env, host.terminal.stderr.isTty);
  const began = host.elapsed();
  let waiting = 0;
  let queue: Promise<unknown> = Promise.resolve();
  return (shown: string, paint?: Paint, canWait = false): void => {
    if (waitsForPager(options, shown)) return;
    if (canWait && waitsForEnd(options, host)) {
      options.lastNotes?.push(shown);
      return;
    }
    const elapsedMs = host.elapsed() - began;
    if (isHeld(options, elapsedMs)) {
      holdNote(options, host, shown, elapsedMs);
      return;
    }
    releaseNotes(options, host);
    if (!isPainted || (paint === undefined && waiting === 0)) {
      put(shown);
      return;
    }
    waiting++;
    queue = queue.then(async () => {
      put(paint ? paint(await themeFor(true), shown) : shown);
      waiting--;
    });
  };
};

const yellowWarning: Paint = ({ yellow }, shown) => yellow('warning:') + shown.slice('warning:'.length);
/** Messages on stderr, one line each. A closed reader is not a failure. */
export const makeLogger = (host: Host, options: OutputOptions, redactor: Redactor): Logger => {
  const said = new Set<string>();
  const { stderr } = host.terminal;
  const signs = signsFor(host.env);
  const clean = (text: string): string => signs(printable(redactor.clean(text)));
  const line = (text: string): string => wrapMessages(clean(text), messageColumns(stderr, host.env));
  // A longer line would wrap, and each frame would scroll the terminal.
  const room = Math.max(10, (stderr.columns || 80) - 3);
  const spinner = new TurningLine(host, (text) => [...clean(text)].slice(0, room).join(''));
  const write = lineWriter(host, options, (shown) =>
    spinner.aside(() => void stderr.write(`${shown}\n`).catch(() => {})),
  );
  const warn = (text: string): void => {
    if (!options.quiet) write(line(`warning: ${text}`), yellowWarning, true);
  };
  // CI logs keep every frame of a spinner.
  const isJson = options.format !== undefined && formatRow(options.format).isJson === true;
  const turns = stderr.isTty && !options.quiet && !host.env.CI && !isJson;
  // Only an error may follow JSON rows on stderr.
  const isLog = !options.quiet && (!!host.env.CI || (!stderr.isTty && !isJson));
  const still = isLog ? minuteLines(host, (text) => write(clean(text))) : silent;
  return {
    info(text, canWait) {
      if (!options.quiet) write(line(text), undefined, canWait);
    },
    warn,
    warnOnce(key, text) {
      if (said.has(key)) return;
      said.add(key);
      warn(text);
    },
    debug(text) {
      if (options.verbose) write(line(text), ({ dim }, shown) => dim(shown));
    },
    status: async (text) => (turns ? spinner.begin(text) : still),
    hide: (secret) => redactor.hide(secret),
  };
};

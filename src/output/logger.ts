import { formatRow } from '../core/format.ts';
import type { Host } from '../platform/host.ts';
import {
  type OutputOptions,
  printable,
  type Redactor,
  signsFor,
  isColored,
  type Theme,
  themeFor,
} from './types.ts';
import { holdNote, isHeld, releaseNotes, waitsForEnd } from './render.ts';

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
/** A CI log keeps every line, so a long run writes one line of progress each minute. */
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
const spinning = (host: Host, clean: (text: string) => string) => {
  // No text: no spinner is wanted. No line: it is hidden, or is being created.
  let text: string | undefined;
  let line: Spinner | undefined;
  let isDrawing = false;
  /** Messages in a burst draw one spinner: two on a terminal would draw over each other. */
  const draw = async (): Promise<void> => {
    if (isDrawing) return;
    isDrawing = true;
    try {
      const first = clean(text ?? '');
      const made = await host.terminal.spinner(first);
      if (text === undefined) made.stop();
      else {
        line = made;
        if (clean(text) !== first) made.update(clean(text));
      }
    } finally {
      isDrawing = false;
    }
  };
  const erase = (): void => {
    line?.stop();
    line = undefined;
  };
  return {
    async begin(first: string): Promise<Spinner> {
      erase();
      text = first;
      await draw();
      return {
        update(next) {
          if (text === undefined) return;
          text = next;
          line?.update(clean(next));
        },
        stop() {
          text = undefined;
          erase();
        },
      };
    },
    aside(write: () => void): void {
      erase();
      write();
      if (text !== undefined) void draw();
    },
  };
};

type Paint = (theme: Theme, text: string) => string;

/** Writes lines in order. Color is loaded at the first line that has one; those after it wait behind it. */
const lineWriter = (host: Host, options: OutputOptions, put: (shown: string) => void) => {
  const isPainted = isColored(options.color, host.env, host.terminal.stderr.isTty);
  const began = host.elapsed();
  let waiting = 0;
  let queue: Promise<unknown> = Promise.resolve();
  return (shown: string, paint?: Paint, canWait = false): void => {
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
  const spinner = spinning(host, clean);
  const write = lineWriter(host, options, (shown) =>
    spinner.aside(() => void stderr.write(`${shown}\n`).catch(() => {})),
  );
  const warn = (text: string): void => {
    if (!options.quiet) write(clean(`warning: ${text}`), yellowWarning, true);
  };
  // CI logs keep every frame of a spinner.
  const turns =
    stderr.isTty &&
    !options.quiet &&
    !host.env.CI &&
    (options.format === undefined || !formatRow(options.format).isJson);
  const still = host.env.CI && !options.quiet ? minuteLines(host, (text) => write(clean(text))) : silent;
  return {
    info(text, canWait) {
      if (!options.quiet) write(clean(text), undefined, canWait);
    },
    warn,
    warnOnce(key, text) {
      if (said.has(key)) return;
      said.add(key);
      warn(text);
    },
    debug(text) {
      if (options.verbose) write(clean(text), ({ dim }, shown) => dim(shown));
    },
    status: async (text) => (turns ? spinner.begin(text) : still),
    hide: (secret) => redactor.hide(secret),
  };
};

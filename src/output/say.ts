import type { Host } from '../host/host.ts';
import { isColored } from './color.ts';
import { isHeld, releaseNotes } from './notes.ts';
import { printable } from './printable.ts';
import { type Theme, themeFor } from './theme.ts';
import type { OutputOptions, Redactor } from './types.ts';

type Spinner = { update(text: string): void; stop(): void };
type Say = {
  info(text: string): void;
  warn(text: string): void;
  warnOnce(key: string, text: string): void;
  debug(text: string): void;
  status(text: string): Promise<Spinner>;
  hide(secret: string): void;
};

const silent: Spinner = { update: () => {}, stop: () => {} };

/** A turning line is drawn over by anything else on the terminal, so that it steps aside for each message. */
const spinning = (host: Host, clean: (text: string) => string) => {
  let current: { line: Spinner; text: string } | undefined;
  const start = async (text: string): Promise<void> => {
    current = { line: await host.terminal.spinner(clean(text)), text };
  };
  return {
    async begin(text: string): Promise<Spinner> {
      current?.line.stop();
      await start(text);
      return {
        update(next) {
          if (current === undefined) return;
          current = { ...current, text: next };
          current.line.update(clean(next));
        },
        stop() {
          current?.line.stop();
          current = undefined;
        },
      };
    },
    aside(write: () => void): void {
      const paused = current;
      paused?.line.stop();
      write();
      if (paused !== undefined) void start(paused.text);
    },
  };
};

/** Messages on stderr, one line each. A reader that has gone is no reason to fail. */
export const makeSay = (host: Host, options: OutputOptions, redactor: Redactor): Say => {
  const said = new Set<string>();
  const began = host.elapsed();
  const { stderr } = host.terminal;
  const clean = (text: string): string => printable(redactor.clean(text));
  const spinner = spinning(host, clean);
  const isPainted = isColored(options.color, host.env, stderr.isTty);
  // Colour is loaded at the first message that has one; those after it wait behind it.
  let waiting = 0;
  let queue: Promise<unknown> = Promise.resolve();
  const line = (text: string, paint?: (theme: Theme, text: string) => string): void => {
    const put = (shown: string): void => spinner.aside(() => void stderr.write(`${shown}\n`).catch(() => {}));
    const shown = clean(text);
    if (isHeld(options, host.elapsed() - began)) {
      options.notes?.push(shown);
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
  const warn = (text: string): void => {
    if (!options.quiet) line(`warning: ${text}`, ({ yellow }, shown) => yellow('warning:') + shown.slice('warning:'.length));
  };
  // CI logs keep every frame of a spinner.
  const turns = stderr.isTty && !options.quiet && !host.env.CI && options.format !== 'json' && options.format !== 'ndjson';
  return {
    info(text) {
      if (!options.quiet) line(text);
    },
    warn,
    warnOnce(key, text) {
      if (said.has(key)) return;
      said.add(key);
      warn(text);
    },
    debug(text) {
      if (options.verbose) line(text, ({ dim }, shown) => dim(shown));
    },
    status: async (text) => (turns ? spinner.begin(text) : silent),
    hide: (secret) => redactor.hide(secret),
  };
};

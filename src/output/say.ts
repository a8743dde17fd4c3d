import type { Say } from '../commands/command.ts';
import type { Host } from '../host/host.ts';
import { visible } from './visible.ts';
import type { OutputOptions, Redactor } from './types.ts';

/** Messages on stderr, one line each; a reader that has gone is no reason to fail. */
export const makeSay = (host: Host, options: OutputOptions, redactor: Redactor): Say => {
  const said = new Set<string>();
  const line = (text: string): void => {
    host.terminal.stderr.write(`${visible(redactor.clean(text))}\n`).catch(() => undefined);
  };
  const warn = (text: string): void => {
    if (!options.quiet) line(`warning: ${text}`);
  };
  const hasSpinner = host.terminal.stderr.isTty && !options.quiet && !host.env.CI && (options.format ?? 'table') === 'table';
  return {
    info: (text) => {
      if (!options.quiet) line(text);
    },
    warn,
    warnOnce: (key, text) => {
      if (said.has(key)) return;
      said.add(key);
      warn(text);
    },
    debug: (text) => {
      if (options.verbose) line(text);
    },
    status: async (text) => (hasSpinner ? host.terminal.spinner(redactor.clean(text)) : { update: () => undefined, stop: () => undefined }),
    hide: (secret) => redactor.hide(secret),
  };
};

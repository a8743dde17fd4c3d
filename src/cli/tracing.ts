import { isAbsolute, join } from 'node:path';
import { printable } from '../output/printable.ts';
import type { Redactor } from '../output/types.ts';
import type { Host } from '../platform/host.ts';
import type { Globals } from './globals.ts';
import { type Exchange, harOf, traceLines, tracedHost } from './trace.ts';

export type Tracing = { readonly host: Host; readonly end: () => Promise<void> };

/** `--debug` prints each exchange as it ends, `--har` writes all of them at the end. Every secret of the run is replaced in both. */
export const traced = (host: Host, { debug, har }: Globals, redactor: Redactor): Tracing => {
  const all: Exchange[] = [];
  const { stderr } = host.terminal;
  const print = (exchange: Exchange): void => {
    const text = traceLines(exchange).map((line) => `${printable(redactor.clean(line))}\n`);
    void stderr.write(text.join('')).catch(() => {});
  };
  const note = (exchange: Exchange): void => {
    if (debug) print(exchange);
    if (har !== undefined) all.push(exchange);
  };
  return {
    host: tracedHost(host, note),
    end: async () => {
      if (har === undefined) return;
      const path = isAbsolute(har) ? har : join(host.cwd, har);
      await host.files.replace(path, redactor.clean(harOf(all, OPSCTL_VERSION)), 0o600);
    },
  };
};

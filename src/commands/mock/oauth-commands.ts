import { str } from '../../core/field.ts';
import { operations } from '../../core/operation.ts';
import { oauthConsole } from '../../api-specs/oauth/console.ts';
import type { Command, Flag, Flags } from '../../cli/command.ts';
import { commandFrom } from '../../cli/derived/command.ts';
import { consoleCommand } from './console-page.ts';
import { examples } from './examples.ts';
import { runOnConsole } from './run-on-console.ts';

const kebab = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
const url = {
  effects: ['sends'],
  field: str(),
  summary: 'Address of a running server (default: the one of the state directory)',
  value: 'url',
} as const satisfies Flag;

/** spec/sign-in#client: a command for each row of the console, `opsctl mock oauth clients create` and so on. */
const rows: readonly Command[] = operations(oauthConsole.table).map(
  ({ resource, verb, operation }): Command => {
    const words = [kebab(resource), kebab(verb)];
    const derived = commandFrom({
      service: oauthConsole,
      resource: words[0] ?? '',
      verb: words[1] ?? '',
      operation,
    });
    let flags: Flags | undefined;
    return {
      path: ['mock', 'oauth', ...words],
      summary: operation.summary,
      get args() {
        return derived.args ?? [];
      },
      get flags() {
        flags ??= { ...derived.flags, url };
        return flags;
      },
      examples: examples[words.join(' ')] ?? [],
      operation: { service: oauthConsole, operation },
      run: (context, values) => runOnConsole(context, operation, words.join(' '), values),
    };
  },
);

export const commands: readonly Command[] = [...rows, consoleCommand];

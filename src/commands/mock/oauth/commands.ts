import { str } from '../../../core/field.ts';
import { type Operation, operations } from '../../../core/operation.ts';
import { type Result, nothing, recordResult, rowsResult } from '../../../core/result.ts';
import { oauthConsole } from '../../../api-specs/oauth/console.ts';
import type { Command, Context, Flag, Flags, Values } from '../../../cli/command.ts';
import { columnsOf } from '../../../table-commands/columns.ts';
import { commandFrom } from '../../../table-commands/command.ts';
import { inputFrom } from '../../../table-commands/input.ts';
import { consoleCommand } from './console-page.ts';

const kebab = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
const url = {
  field: str(),
  summary: 'Address of a running server (default: the one of the state directory)',
  value: 'url',
} as const satisfies Flag;

const examples: Readonly<Record<string, readonly { readonly line: string; readonly says: string }[]>> = {
  'clients create': [
    {
      line: 'opsctl mock oauth clients create --type desktop --name "My tool" --secret true',
      says: 'a desktop client with a secret, shown once',
    },
    {
      line: 'opsctl mock oauth clients create --type mobile-b --name App --bundle-id com.example.app --team-id ABCDE12345',
      says: 'a client of mobile platform B',
    },
  ],
  'consent set': [
    {
      line: 'opsctl mock oauth consent set --mode auto --user ada@demo.example',
      says: 'sign-ins of scripts need no browser',
    },
  ],
  'settings set': [
    {
      line: 'opsctl mock oauth settings set --access-token-seconds 5',
      says: 'access tokens that expire at once',
    },
  ],
  'events subscribe': [
    {
      line: 'opsctl mock oauth events subscribe --client ID --receiver http://127.0.0.1:9000/events',
      says: 'send security events to a receiver',
    },
  ],
};

/** Asks where the row says so, calls the console of the server and shows what it answered. */
const run = async (
  context: Context,
  operation: Operation,
  name: string,
  { url: given, ...input }: Values,
): Promise<Result> => {
  if (operation.cli?.confirm && !context.isDryRun)
    await context.confirm(
      operation.cli.confirm.replace(/\{(\w+)\}/g, (_, word: string) => String(input[word])),
    );
  const { callConsole } = await import('./control-console.ts');
  const answer = await callConsole(
    context,
    operation,
    inputFrom(operation, input),
    typeof given === 'string' ? given : undefined,
  );
  const message = `${name}: done`;
  if (answer === undefined) return nothing(message);
  const view = { columns: columnsOf(operation) };
  if (Array.isArray(answer)) return rowsResult(answer, view);
  return recordResult(answer, operation.method === 'GET' ? view : { ...view, message });
};

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
      run: (context, values) => run(context, operation, words.join(' '), values),
    };
  },
);

export const commands: readonly Command[] = [...rows, consoleCommand];

import { bool, list, str } from '../core/field.ts';
import { nothing, type Result } from '../core/result.ts';
import { defineCommand, type Command, type Context, type Flags, type ValuesOf } from '../cli/command.ts';

type Groups = readonly { readonly name: string; readonly load: () => Promise<readonly Command[]> }[];

const flags = {
  'allow-write': {
    field: bool(),
    summary:
      'Also offer commands that change something; each call is shown first and needs its approval token',
  },
  group: {
    field: list(str(50)),
    repeat: true,
    summary: 'Only these groups, such as tracker,kv',
    value: 'name',
  },
} as const satisfies Flags;

const serve = async (context: Context, values: ValuesOf<typeof flags>, groups: Groups): Promise<Result> => {
  const { serveTools } = await import('../mcp-tools/serve.ts');
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const names = (values.group ?? []).flatMap((text) => text.split(','));
  await serveTools(context, commands, { mayWrite: values['allow-write'] ?? false, groups: names });
  return nothing();
};

/** The server over these groups: each of their commands is a tool. */
export const commandsOver = (groups: Groups): readonly Command[] => [
  defineCommand({
    path: ['mcp'],
    summary: 'Serve the commands as tools of the Model Context Protocol, on standard input and output',
    about:
      'For agents. Tools come from the registry, with JSON Schemas. Without --allow-write only those that change nothing are there. With it, a call that changes something answers with its dry run and an approval token; the same call with the token does it, if it would still do the same. Secrets are in no result, and commands that print one are no tools.',
    flags,
    noDryRun: 'opsctl mcp offers only tools that change nothing, unless --allow-write is given',
    examples: [
      { line: 'opsctl mcp', says: 'Tools that change nothing' },
      {
        line: 'opsctl mcp --allow-write --group tracker',
        says: 'The tracker, with changes that are approved one by one',
      },
    ],
    run: (context, values) => serve(context, values, groups),
  }),
];

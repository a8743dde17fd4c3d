import { resolve } from 'node:path';
import { bool, list, str } from '../core/field.ts';
import { invalidArguments, problem, usageError } from '../core/problem.ts';
import { nothing, type Result } from '../core/result.ts';
import { defineCommand, type Command } from '../cli/command.ts';
import type { Context } from '../api/context.ts';
import type { Flags, ValuesOf } from '../core/flag.ts';
import { endpointFlags } from './kv/flags.ts';

type Groups = readonly { readonly name: string; readonly load: () => Promise<readonly Command[]> }[];

const flags = {
  'allow-write': {
    field: bool(),
    summary:
      'Also offer commands that make changes; each call returns a preview first and requires its approval token',
  },
  group: {
    effects: [],
    field: list(str(50)),
    repeat: true,
    summary: 'Groups or prefixes of tool names, such as tracker,kv_member; all offers every tool',
    value: 'name',
  },
  files: {
    effects: ['reads'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Tools may read the files below this directory, and no other files',
    value: 'directory',
    complete: 'file',
  },
  set: {
    effects: ['reads', 'writes', 'runs', 'sends'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Fix an argument of one tool, such as kv_plan.out=plan.json; no call can replace it',
    value: 'tool.name=value',
  },
  ...endpointFlags,
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const sharedFlags = Object.keys(endpointFlags) as (keyof typeof endpointFlags)[];

/** `kv_plan.out=plan.json` → kv_plan → out → plan.json. */
const fixedValues = (texts: readonly string[]): Record<string, Record<string, string>> => {
  const found = new Map<string, Record<string, string>>();
  for (const text of texts) {
    const [, tool, name, value] = /^([^.=]+)\.([^=]+)=(.*)$/s.exec(text) ?? [];
    if (tool === undefined || name === undefined || value === undefined)
      throw usageError(`invalid --set ${JSON.stringify(text)}: must be TOOL.NAME=VALUE`);
    found.set(tool, { ...found.get(tool), [name]: value });
  }
  return Object.fromEntries(found);
};

const directoryOf = async ({ host }: Context, given: string): Promise<string> => {
  const path = await host.files.realPath(resolve(host.cwd, given));
  if (path !== undefined && (await host.files.info(path))?.kind === 'directory') return path;
  throw invalidArguments([problem('--files', 'rule', `names ${given}, which is not a directory`)]);
};

const serve = async (context: Context, values: Given, groups: Groups): Promise<Result> => {
  const { serveTools } = await import('../cli/mcp/call.ts');
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const directories = await Promise.all((values.files ?? []).map((path) => directoryOf(context, path)));
  const forAll = sharedFlags.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]));
  await serveTools(context, commands, {
    mayWrite: values['allow-write'] ?? false,
    groups: (values.group ?? []).flatMap((text) => text.split(',')),
    mayReadFiles: directories.length > 0,
    forAll: Object.fromEntries(forAll),
    forTools: fixedValues(values.set ?? []),
    directories,
    sharedFlags,
  });
  return nothing();
};

const about = [
  'Without --allow-write, the server offers only read-only tools. No tool has an argument that writes a file, runs a program, or chooses a URL or a secret. The person who starts the server sets such values: --cluster and the other flags below for all tools, --set for one tool, and --files for directories that tools may read.',
  '',
  'With --allow-write, a call that changes something returns its dry run and an approval token. The same call with the token applies the change if the dry run and the files are still the same. The change uses a private copy of the files that the dry run read.',
  '',
  'Without --group, the server offers the 40 most useful tools, because some clients reject long lists. Results contain no secrets.',
  '',
  'Configuration for Claude Desktop, Claude Code (.mcp.json) and Cursor (.cursor/mcp.json):',
  '',
  '  {"mcpServers": {"opsctl": {"command": "opsctl", "args": ["mcp"]}}}',
  '',
  'Configuration for VS Code (.vscode/mcp.json):',
  '',
  '  {"servers": {"opsctl": {"type": "stdio", "command": "opsctl", "args": ["mcp"]}}}',
].join('\n');

/** The server over these groups: each of their commands is a tool. */
export const commandsOver = (groups: Groups): readonly Command[] => [
  defineCommand({
    path: ['mcp'],
    summary: 'Serve the commands as tools of the Model Context Protocol, on standard input and output',
    about,
    flags,
    noDryRun: 'opsctl mcp offers only read-only tools unless --allow-write is given',
    examples: [
      { line: 'opsctl mcp', says: 'Offer read-only tools' },
      {
        line: 'opsctl mcp --group all --cluster cluster.yaml',
        says: 'Offer all read-only tools for one cluster',
      },
      {
        line: 'opsctl mcp --allow-write --group tracker',
        says: 'Offer the tracker, with approval of each change',
      },
    ],
    run: (context, values) => serve(context, values, groups),
  }),
];

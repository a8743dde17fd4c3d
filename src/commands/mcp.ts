import { Readable, Writable } from 'node:stream';
import { bool, list, str } from '../core/field.ts';
import { nothing, type Result } from '../core/result.ts';
import { defineCommand, type Command, type Context, type Flags, type ValuesOf } from '../cli/command.ts';
import { boundedLines } from '../cli/standard-input.ts';

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

const output = ({ host }: Context): Writable =>
  new Writable({
    write: (chunk: Uint8Array, _encoding, done) =>
      void host.terminal.stdout.write(chunk).then(() => done(), done),
  });

const serve = async (context: Context, values: ValuesOf<typeof flags>, groups: Groups): Promise<Result> => {
  const [sdk, { toolsOf }, { called }, { approvals }] = await Promise.all([
    import('./mcp/sdk-package.ts'),
    import('./mcp/tools.ts'),
    import('./mcp/call.ts'),
    import('./mcp/approval.ts'),
  ]);
  const { host, settings, signal } = context;
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const names = (values.group ?? []).flatMap((text) => text.split(','));
  const tools = toolsOf(commands, values['allow-write'] ?? false, names);
  const isNamed = settings.profile.origin.startsWith('flag');
  const caller = {
    host,
    approvals: approvals(host.random(32), host.now),
    always: isNamed ? [`--profile=${settings.profile.name}`] : [],
  };
  const server = new sdk.Server({ name: 'opsctl', version: OPSCTL_VERSION }, { capabilities: { tools: {} } });
  server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema, isReading }) => ({
      ...{ name, description, inputSchema },
      annotations: { readOnlyHint: isReading, destructiveHint: !isReading, openWorldHint: true },
    })),
  }));
  server.setRequestHandler(sdk.CallToolRequestSchema, (request, extra) =>
    called(caller, tools, request.params.name, request.params.arguments ?? {}, extra.signal),
  );
  const input = Readable.from(boundedLines(host));
  const over = new Promise<void>((resolve) => {
    input.once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(new sdk.StdioServerTransport(input, output(context)));
  context.log.info(`opsctl mcp offers ${tools.length} tools on standard input and output`);
  await over;
  await server.close();
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

import { Readable, Writable } from 'node:stream';
import type { Command, Context } from '../cli/command.ts';
import { boundedLines } from '../cli/standard-input.ts';
import { isClosedPipe } from '../core/write-failure.ts';
import { approvals } from './approval.ts';
import { called } from './call.ts';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  Server,
  StdioServerTransport,
} from './sdk-package.ts';
import { type Allowed, toolsOf } from './tools.ts';

const output = ({ host }: Context): Writable =>
  new Writable({
    write: (chunk: Uint8Array, _encoding, done) =>
      void host.terminal.stdout.write(chunk).then(() => done(), done),
  });

/** Answers requests for tools until standard input ends or Ctrl-C. */
export const serveTools = async (
  context: Context,
  commands: readonly Command[],
  asked: Allowed & { readonly directories: readonly string[]; readonly sharedFlags: readonly string[] },
): Promise<void> => {
  const { host, settings, signal } = context;
  const tools = toolsOf(commands, asked);
  const isNamed = settings.profile.origin.startsWith('flag');
  const caller = {
    host,
    approvals: approvals(host.random(32), host.now),
    sharedFlags: asked.sharedFlags,
    directories: asked.directories,
    always: isNamed ? [`--profile=${settings.profile.name}`] : [],
  };
  const server = new Server({ name: 'opsctl', version: OPSCTL_VERSION }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema, isReading }) => ({
      ...{ name, description, inputSchema },
      annotations: { readOnlyHint: isReading, destructiveHint: !isReading, openWorldHint: true },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, (request, extra) =>
    called(caller, tools, request.params.name, request.params.arguments ?? {}, extra.signal),
  );
  const input = Readable.from(boundedLines(host));
  const answers = output(context);
  const over = new Promise<void>((resolve, reject) => {
    input.once('close', resolve);
    answers.on('error', (error) => (isClosedPipe(error) ? resolve() : reject(error)));
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport(input, answers));
  context.log.info(`opsctl mcp offers ${tools.length} tools on standard input and output`);
  await over;
  await server.close();
};

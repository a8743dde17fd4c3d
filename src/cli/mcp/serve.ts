import { Readable, Writable } from 'node:stream';
import type { Command } from '../command.ts';
import type { Context } from '../../api/context.ts';
import { boundedLines } from '../../api/input.ts';
import { isClosedPipe } from '../../core/problem.ts';
import { approvals, callTool } from './call.ts';
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

const LINE_END = 10;
const PROTO = '__proto__';

/** The protocol package drops an argument named `__proto__`. Under a name with a space it is rejected as unknown. */
export const withVisibleNames = (line: string): string => {
  if (!line.includes(PROTO) && !line.includes(String.raw`\u`)) return line;
  try {
    const message = JSON.parse(line) as { params?: { arguments?: Record<string, unknown> } };
    const given = message.params?.arguments;
    if (typeof given !== 'object' || given === null || !Object.hasOwn(given, PROTO)) return line;
    const entries = Object.entries(given).map(([name, value]) => [
      name === PROTO ? `${PROTO} ` : name,
      value,
    ]);
    return JSON.stringify({
      ...message,
      params: { ...message.params, arguments: Object.fromEntries(entries) },
    });
  } catch {
    return line;
  }
};

async function* messages(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Uint8Array[] = [];
  for await (const part of parts) {
    const end = part.lastIndexOf(LINE_END);
    if (end < 0) {
      rest.push(part);
      continue;
    }
    const whole = Buffer.concat([...rest, part.subarray(0, end)]).toString('utf8');
    rest = [part.subarray(end + 1)];
    yield Buffer.from(`${whole.split('\n').map(withVisibleNames).join('\n')}\n`);
  }
  yield Buffer.concat(rest);
}

/** Serves tool requests until standard input ends or the user presses Ctrl-C. */
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
    callTool(caller, tools, request.params.name, request.params.arguments ?? {}, extra.signal),
  );
  const input = Readable.from(messages(boundedLines(host)));
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

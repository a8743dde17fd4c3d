import { trustCall } from '../../core/program-call.ts';
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { exitCodes, AppError, problemText, isClosedPipe } from '../../core/problem.ts';
import { limits } from '../../core/limits.ts';
import { parseExactJson, restoreNumbers } from '../../core/json.ts';
import { quotableLine, quotableText, redactedResult } from '../../core/redact-secrets.ts';
import { isRecord } from '../../core/shape.ts';
import { printable } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import { makeOwnDirectory } from '../../platform/process-identity.ts';
import { approvedDigest } from '../approved-files.ts';
import { WORDS_FOLLOW } from '../parse.ts';
import {
  argvOf,
  checkArguments,
  type ToolArguments,
  withRealPaths,
  type Tool,
  type Allowed,
  toolsOf,
} from './tools.ts';
import { Readable, Writable } from 'node:stream';
import type { Command } from '../command.ts';
import type { Context } from '../../api/context.ts';
import { boundedLines } from '../../api/input.ts';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const APPROVAL_MINUTES = 10;
/**
 * The digest of what a dry run shows and of the files that it read. Ports of the embedded server, moments and the
 * boundary of an upload differ from run to run and are left out. Pure.
 */
const digestOf = (shown: string, filesDigest: string): string => {
  const plan = /"digest":\s*"([0-9a-f]{64})"/.exec(shown)?.[1];
  const steady = shown
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://127.0.0.1')
    .replaceAll(/"taken_at":\s*"[^"]*"/g, '')
    .replaceAll(/boundary=[0-9A-Za-z-]+/g, 'boundary');
  return hash('sha256', JSON.stringify([plan ?? steady, filesDigest]));
};
/**
 * Tokens that allow one call once, if it would still make the change that was shown. Another server does not
 * accept them. A token has only digits and letters, because an argument must not start with a dash.
 */
export const approvals = (key: Uint8Array, now: () => number) => {
  const issued = new Map<string, number>();
  const tokenOf = (call: string, digest: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([call, digest]))
      .digest('hex');
  return {
    issue(call: string, digest: string): string {
      const token = tokenOf(call, digest);
      issued.set(token, now());
      return token;
    },
    /** True once: a second use, an old one and one for another call or another plan are refused. */
    redeem(token: string, call: string, digest: string): boolean {
      const expected = Buffer.from(tokenOf(call, digest));
      const given = Buffer.from(token);
      const isSame = expected.length === given.length && timingSafeEqual(expected, given);
      const at = issued.get(token);
      if (!isSame || at === undefined) return false;
      issued.delete(token);
      return now() - at <= APPROVAL_MINUTES * 60_000;
    },
  };
};

export type Answer = {
  readonly content: { type: 'text'; text: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: Record<string, unknown>;
};
type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type Caller = {
  readonly host: Host;
  readonly approvals: ReturnType<typeof approvals>;
  /** Flags of the server that hold for every call: the profile. */
  readonly always: readonly string[];
  /** Names of the start-up flags that hold for every tool that has the flag. */
  readonly sharedFlags: readonly string[];
  /** Real paths of the directories whose files tools may read; empty: a change may name any file. */
  readonly directories: readonly string[];
};
/**
 * The text of a result, in which invisible characters are escapes as on a terminal. A person approves the change that this
 * text shows, and a model reads characters that a person does not see. Escaped JSON is still the same JSON.
 */
const contentOf = (text: string): Answer['content'] => [{ type: 'text', text: printable(text) }];
/**
 * The same rule for the value of a result. Clients pass this value to the model instead of the text, and the model would
 * read what the person does not see. Here the escape is part of the value, because a client decodes an escape of JSON.
 */
const visibleValue = (value: unknown): unknown => {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(visibleValue);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [printable(key), visibleValue(each)]));
};
const structuredValue = (value: Readonly<Record<string, unknown>>): Pick<Answer, 'structuredContent'> => ({
  structuredContent: visibleValue(value) as Record<string, unknown>,
});
const makeAnswer = (text: string, isError = false): Answer => ({
  content: contentOf(text),
  ...(isError ? { isError } : {}),
});
/**
 * Runs the program without a terminal: it does not prompt, and its own redactor hides every secret. No argument of a
 * call is in the process list.
 */
const run = async (
  { host, always, directories }: Caller,
  words: readonly string[],
  signal?: AbortSignal,
): Promise<Ran> => {
  const end = words.indexOf('--');
  // A filter such as .[].token prints a value without its name, so the command masks the values before the filter reads them.
  // One JSON list: a single value that starts with `[`, or that ends with a space, would be another path.
  const bounds = directories.length === 0 ? [] : [`--files-within=${JSON.stringify(directories)}`];
  const flags = ['--output=json', '--no-input', '--mask-secrets', ...always, ...bounds];
  const line = end < 0 ? [...words, ...flags] : [...words.slice(0, end), ...flags, ...words.slice(end)];
  const done = await host.processes.run(...trustCall([...host.self, WORDS_FOLLOW]), {
    env: { GITHUB_ACTIONS: undefined, GITLAB_CI: undefined },
    input: JSON.stringify(line),
    maxBytes: limits.toolReplyBytes,
    timeoutMs: limits.toolMs,
    ...(signal === undefined ? {} : { signal }),
  });
  if (done.isCut === true)
    return {
      code: 1,
      stdout: '',
      stderr: `the output has more than ${limits.toolReplyBytes} bytes; request less data, or filter with jq`,
    };
  return { code: done.code ?? 1, stdout: done.stdout, stderr: done.startError ?? done.stderr };
};
const parseText = (text: string): unknown => {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
};
type Masked = { readonly text: string; readonly value: unknown };
/**
 * One JSON document without its secrets, with each number as the service wrote it. The value has a mark for a number
 * that JavaScript would round, until the message is written.
 */
const maskedJson = (text: string, indent?: number): Masked | undefined => {
  const value = parseText(text);
  if (value === undefined) return undefined;
  const shown = redactedResult(value);
  const line = JSON.stringify(shown);
  // The text of the command is more compact than the same value in another notation.
  const isSame = JSON.stringify(value) === line;
  const changed = indent === undefined ? line : `${JSON.stringify(shown, undefined, indent)}\n`;
  return { text: isSame ? text : restoreNumbers(changed), value: shown };
};
/** A list that a failure ended after some of its rows. */
const maskedStart = (text: string): string | undefined => {
  const masked = /^\s*\[/.test(text) ? maskedJson(`${text.trimEnd().replace(/,$/, '')}]`, 2) : undefined;
  return masked?.text.replace(/\]\s*$/, '');
};
/** A text with several JSON documents, one a line, or with messages. */
const maskedLines = (text: string): string => {
  const lines = text
    .split('\n')
    .map((line) => ({ line, masked: line.trim() === '' ? line : maskedJson(line)?.text }));
  const isPart = /^\s*[[{]/.test(text) && lines.some(({ masked }) => masked === undefined);
  if (isPart) return maskedStart(text) ?? quotableText(text);
  return lines.map(({ line, masked }) => masked ?? quotableLine(line)).join('\n');
};
/**
 * The output of a command without its secrets. A response of a service may contain a secret that opsctl does not know,
 * and an agent may repeat it anywhere.
 */
export const withoutSecrets = (text: string): Masked =>
  maskedJson(text, 2) ?? { text: maskedLines(text), value: undefined };
const meaningOf = (code: number): string =>
  Object.values(exitCodes).find((row) => row.code === code)?.meaning ?? 'ended';
/** Exit code 20 is a valid result: a difference was found, or a check failed. */
const answerOf = ({ code, stdout, stderr }: Ran): Answer => {
  const isError = code !== 0 && code !== exitCodes.no.code;
  const { text: out, value } = withoutSecrets(stdout);
  const text = isError ? [out, withoutSecrets(stderr).text].filter((one) => one !== '').join('\n') : out;
  const note = code === 0 ? '' : `exit code ${code}: ${meaningOf(code)}\n`;
  return {
    content: contentOf(`${note}${text}`),
    ...(isError ? { isError } : {}),
    ...(value === undefined ? {} : structuredValue({ exit_code: code, result: value })),
  };
};
const withFlags = (words: readonly string[], ...flags: readonly string[]): string[] => {
  const end = words.indexOf('--');
  return end < 0 ? [...words, ...flags] : [...words.slice(0, end), ...flags, ...words.slice(end)];
};
/** What a dry run printed, with the digest of its output and of the files that it read. */
type Shown = { readonly ran: Ran; readonly digest: string };
const dryRun = async (
  caller: Caller,
  words: readonly string[],
  directory: string,
  signal?: AbortSignal,
): Promise<Shown> => {
  const ran = await run(caller, withFlags(words, '--dry-run', `--approved-files=${directory}`), signal);
  if (ran.code !== 0 && ran.code !== exitCodes.no.code) return { ran, digest: '' };
  return { ran, digest: digestOf(ran.stdout, await approvedDigest(caller.host.files, directory)) };
};
const shownAnswer = (caller: Caller, tool: Tool, call: string, { ran, digest }: Shown): Answer => {
  const token = caller.approvals.issue(call, digest);
  const { text: plan, value } = withoutSecrets(ran.stdout);
  const next = `To apply them, call ${tool.name} again with the same arguments and "approval": "${token}" within ${APPROVAL_MINUTES} minutes, after the person approves.`;
  const start = 'No changes were made. The call would make these changes:';
  // Some clients pass only the value to the model.
  const message = `${start} ${next}`;
  return {
    ...makeAnswer(`${start}\n${plan}\n${next}`),
    ...structuredValue({ message, approval: token, digest, dry_run: value ?? plan }),
  };
};
const wasSentBefore = ({ stdout }: Ran): boolean => {
  const shown = parseText(stdout) as { dry_run?: unknown; sent_before?: unknown } | undefined | null;
  return shown?.dry_run === true && typeof shown.sent_before === 'string';
};
/** A change is shown first; its token allows that change, and no other one. The change reads the files that were shown. */
const applyChange = async (
  caller: Caller,
  tool: Tool,
  given: ToolArguments,
  directory: string,
  signal?: AbortSignal,
): Promise<Answer> => {
  const { approval, ...rest } = given;
  const words = argvOf(tool, rest);
  const shown = await dryRun(caller, words, directory, signal);
  if (shown.digest === '') return answerOf(shown.ran);
  const call = JSON.stringify(words);
  if (approval === undefined) return shownAnswer(caller, tool, call, shown);
  if (!caller.approvals.redeem(String(approval), call, shown.digest))
    return makeAnswer(
      `Refused, and no changes were made: the approval token was already used, is older than ${APPROVAL_MINUTES} minutes or belongs to another call, or the call would now make a different change. Call again without the token.`,
      true,
    );
  // The dry run that was approved names the earlier command, so the approval is the decision to send the request again.
  const decided = wasSentBefore(shown.ran) ? ['--yes', '--send-again'] : ['--yes'];
  return answerOf(await run(caller, withFlags(words, ...decided, `--approved-files=${directory}`), signal));
};
/** Runs a change with a private directory for copies of its files. */
const withCopies = async ({ host }: Caller, act: (directory: string) => Promise<Answer>): Promise<Answer> => {
  const directory = await makeOwnDirectory(host, 'approved');
  try {
    return await act(directory);
  } finally {
    await host.files.remove(directory);
  }
};
/** Makes one call of a tool. For an invalid argument it returns an error result, as for any failure. */
export const callTool = async (
  caller: Caller,
  tools: readonly Tool[],
  name: string,
  given: ToolArguments,
  signal?: AbortSignal,
): Promise<Answer> => {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined)
    return makeAnswer(
      `Tool not found: ${name}. A server offers more tools with --group, tools that make changes with --allow-write, and tools that read files with --files.`,
      true,
    );
  try {
    checkArguments(tool, given, caller.sharedFlags);
    const { directories } = caller;
    const checked =
      directories.length === 0 ? given : await withRealPaths(caller.host, directories, tool, given);
    if (!tool.isReading)
      return await withCopies(caller, (directory) => applyChange(caller, tool, checked, directory, signal));
    return answerOf(await run(caller, argvOf(tool, checked), signal));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return makeAnswer([error.message, ...(error.detail.problems ?? []).map(problemText)].join('\n'), true);
  }
};

const output = ({ host }: Context): Writable =>
  new Writable({
    decodeStrings: false,
    write: (message: string | Uint8Array, _encoding, done) =>
      void host.terminal.stdout
        .write(typeof message === 'string' ? restoreNumbers(message) : message)
        .then(() => done(), done),
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

/** Returns a tool as clients see it. A client may run a read-only tool without a question to the user. Pure. */
export const describeTool = ({ name, description, inputSchema, isReading }: Tool) => ({
  ...{ name, description, inputSchema },
  annotations: { readOnlyHint: isReading, destructiveHint: !isReading, openWorldHint: true },
});

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
    tools: tools.map(describeTool),
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

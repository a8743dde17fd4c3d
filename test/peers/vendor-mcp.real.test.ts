/**
 * The vendor's MCP server from npm, unchanged, next to the mock server. It knows only its own address, so a preloaded script
 * sends its requests to the mock server with the header of the documents.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
// @ts-expect-error: a plain script, shared with the benches.
import { peers } from './install.mjs';

const REDIRECT = `
import http from 'node:http';
import https from 'node:https';
const { hostname, port } = new URL(process.env.MOCK_URL);
const request = https.request;
https.request = (options, ...rest) =>
  /shortcut/.test(options.hostname ?? options.host ?? '')
    ? http.request(
        {
          ...options,
          ...{ protocol: 'http:', hostname, host: hostname, port, agent: undefined },
          headers: { ...options.headers, 'Tracker-Token': process.env.SHORTCUT_API_TOKEN },
        },
        ...rest,
      )
    : request(options, ...rest);
`;
let server: TrackerServer;
let vendor: ChildProcess;
let sent = 0;
const waiting = new Map<number, (answer: any) => void>();
const send = (method: string, params: object): Promise<any> => {
  const id = ++sent;
  vendor.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  return new Promise((resolve) => waiting.set(id, resolve));
};
/** Calls a tool, and returns its text. */
const callTool = async (name: string, args: object = {}): Promise<string> => {
  const { result, error } = await send('tools/call', { name, arguments: args });
  const text = (result?.content ?? []).map((part: { readonly text?: string }) => part.text ?? '').join('\n');
  if (error !== undefined || result.isError === true)
    throw new Error(`${name}: ${JSON.stringify(error ?? text)}`);
  return text;
};
/** The ID that a tool reports for a new record. */
const idIn = (text: string): number =>
  Number(/\bID:? (\d+)|sc-(\d+)|"id": (\d+)/.exec(text)?.slice(1).find(Boolean));

beforeAll(async () => {
  peers();
  server = await startTracker();
  const redirect = join(makeDirectory('opsctl-vendor-'), 'redirect.mjs');
  writeFileSync(redirect, REDIRECT);
  const program = peers().resolve('@shortcut/mcp/dist/index.js');
  vendor = spawn(process.execPath, ['--import', redirect, program], {
    env: { ...process.env, SHORTCUT_API_TOKEN: TOKEN, MOCK_URL: server.mock.origin },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  createInterface({ input: vendor.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const answer = JSON.parse(line);
    waiting.get(answer.id)?.(answer);
  });
  const client = {
    protocolVersion: '2025-03-26',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  await send('initialize', client);
  vendor.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
});
afterAll(async () => {
  vendor.kill('SIGKILL');
  await server.close();
});

test.each([
  'users-list',
  'teams-list',
  'workflows-list',
  'labels-list',
  'epics-search',
  'iterations-get-active',
  'documents-list',
  'projects-list',
  'custom-fields-list',
])('the vendor MCP server reads %s', async (name) => {
  await expect(callTool(name)).resolves.not.toBe('');
});

test('the vendor MCP server makes an epic, a label and a story, changes the story and finds it', async () => {
  const [workflow] = (await server.ask('GET', '/workflows')).body;
  const epic = idIn(await callTool('epics-create', { name: 'Release by MCP' }));
  await callTool('labels-create', { name: 'by-mcp' });
  const made = await callTool('stories-create', { name: 'Story by MCP', workflow: workflow.id, epic });
  const story = idIn(made);
  await callTool('stories-update', { storyPublicId: story, name: 'Changed by MCP' });
  await callTool('stories-create-comment', { storyPublicId: story, text: 'done' });
  expect((await server.ask('GET', `/stories/${story}`)).body).toMatchObject({
    ...{ name: 'Changed by MCP', epic_id: epic },
    comments: [{ text: 'done' }],
  });
  expect(await callTool('stories-search', { name: 'Changed' })).toContain('Changed by MCP');
  expect((await server.ask('GET', '/labels')).body.map(({ name }: any) => name)).toContain('by-mcp');
});

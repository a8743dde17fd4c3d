/** The built program as a server for agents, driven by the client of the official SDK. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeCache } from '../support/code-cache.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const secret = 'planted-token-of-the-agent-4711';
let home: string;
const open: Client[] = [];
const connect = async (args: readonly string[] = [], env: Record<string, string> = {}): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [BIN, 'mcp', ...args],
      env: { PATH: process.env.PATH ?? '', HOME: home, OPSCTL_HOME: home, ...codeCache, ...env },
      stderr: 'ignore',
    }),
  );
  open.push(client);
  return client;
};
const call = async (client: Client, name: string, given: Record<string, unknown> = {}): Promise<any> =>
  client.callTool({ name, arguments: given });
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'opsctl-mcp-'));
});
afterAll(async () => {
  for (const client of open) await client.close();
  rmSync(home, { recursive: true, force: true });
});

describe('without --allow-write', () => {
  it('offers tools that only look, with schemas from the rows', async () => {
    const { tools } = await (await connect()).listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['tracker_labels_list', 'kv_check', 'labels_lint', 'doctor']),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    for (const name of [
      'tracker_labels_create',
      'auth_token',
      'auth_header',
      'api',
      'config_set',
      'mcp',
      'login',
    ])
      expect(names).not.toContain(name);
    const get = tools.find(({ name }) => name === 'tracker_labels_get');
    expect(get?.inputSchema).toMatchObject({
      type: 'object',
      required: ['label'],
      additionalProperties: false,
    });
  });
  it('answers with data', async () => {
    const client = await connect();
    const { structuredContent } = await call(client, 'tracker_labels_list', { jq: 'map(.name)' });
    expect(structuredContent).toMatchObject({ exit_code: 0, result: expect.arrayContaining(['onboarding']) });
  });
  it('a change is refused, and so are wrong arguments; both say why', async () => {
    const client = await connect();
    expect(await call(client, 'tracker_labels_create', { name: 'x' })).toMatchObject({ isError: true });
    const wrong = await call(client, 'tracker_labels_get', { label: 'bug', nosuch: 1 });
    expect([wrong.isError, wrong.content[0].text]).toEqual([
      true,
      expect.stringContaining('nosuch is not an argument'),
    ]);
    const missing = await call(client, 'tracker_labels_get', { label: 'nosuch' });
    expect([missing.isError, missing.content[0].text]).toEqual([
      true,
      expect.stringContaining('exit code 6: not found'),
    ]);
  });
  it('no argument becomes a flag of its own', async () => {
    const answer = await call(await connect(), 'tracker_labels_get', { label: '--help' });
    expect([answer.isError, answer.content[0].text]).toEqual([
      true,
      expect.stringContaining('no label is called'),
    ]);
  });
  it('no result holds a secret', async () => {
    const client = await connect([], {
      OPSCTL_TRACKER_URL: 'http://127.0.0.1:9',
      OPSCTL_TRACKER_TOKEN: secret,
    });
    for (const name of ['config_list', 'doctor', 'tracker_labels_list'])
      expect(JSON.stringify(await call(client, name))).not.toContain(secret);
  });
});

describe('with --allow-write', () => {
  const names = async (client: Client) =>
    (await call(client, 'tracker_labels_list', { jq: 'map(.name)' })).structuredContent.result as string[];
  it('a change is shown first, done with its token, and only once', async () => {
    const client = await connect(['--allow-write', '--group', 'tracker']);
    const first = await call(client, 'tracker_labels_create', { name: 'made by an agent' });
    expect(first.content[0].text).toMatch(/^Nothing was done/);
    expect(await names(client)).not.toContain('made by an agent');
    const { approval } = first.structuredContent;
    const other = await call(client, 'tracker_labels_create', { name: 'another', approval });
    expect([other.isError, other.content[0].text]).toEqual([
      true,
      expect.stringMatching(/^Refused, and nothing was done/),
    ]);
    const done = await call(client, 'tracker_labels_create', { name: 'made by an agent', approval });
    expect(done.structuredContent.result).toMatchObject({ name: 'made by an agent' });
    expect(await names(client)).toContain('made by an agent');
    const again = await call(client, 'tracker_labels_create', { name: 'made by an agent', approval });
    expect(again.isError).toBe(true);
  });
  it('a token is worth nothing when the change would be another one by now', async () => {
    const client = await connect(['--allow-write', '--group', 'tracker']);
    const file = join(home, 'workspace.yaml');
    writeFileSync(file, 'labels:\n  - name: first\n');
    const { approval } = (await call(client, 'tracker_apply', { file })).structuredContent;
    writeFileSync(file, 'labels:\n  - name: second\n');
    expect((await call(client, 'tracker_apply', { file, approval })).isError).toBe(true);
    expect(await names(client)).not.toContain('second');
  });
  it('a body is never a file of this machine', async () => {
    const client = await connect(['--allow-write', '--group', 'tracker']);
    const answer = await call(client, 'tracker_labels_create', { body: '@/etc/passwd' });
    expect([answer.isError, answer.content[0].text]).toEqual([true, expect.stringContaining('not a file')]);
  });
  it('what cannot show first what it would do is no tool', async () => {
    const { tools } = await (await connect(['--allow-write'])).listTools();
    const offered = tools.map(({ name }) => name);
    expect(offered).toEqual(expect.arrayContaining(['kv_upgrade', 'kv_defrag', 'tracker_apply']));
    for (const name of ['kv_fleet', 'mock_reset', 'config_set', 'login']) expect(offered).not.toContain(name);
  });
});

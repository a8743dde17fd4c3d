/** The built program as a server for agents, used by the client of the official SDK. */
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeCache } from '../support/code-cache.ts';
import { makeDirectory } from '../support/directory.ts';
import { connectToServer, type McpClient } from '../support/mcp-client.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const secret = 'planted-token-of-the-agent-4711';
let home: string;
const open: McpClient[] = [];
const connect = async (
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<McpClient> => {
  const client = await connectToServer({
    command: process.execPath,
    args: [BIN, 'mcp', ...args],
    env: { PATH: process.env.PATH ?? '', HOME: home, OPSCTL_HOME: home, ...codeCache, ...env },
    stderr: 'ignore',
  });
  open.push(client);
  return client;
};
const call = async (client: McpClient, name: string, given: Record<string, unknown> = {}): Promise<any> =>
  client.callTool(name, given);
beforeAll(() => {
  home = makeDirectory();
});
afterAll(async () => {
  for (const client of open) await client.close();
});

describe('tools without --allow-write', () => {
  it('offers tools that only look, with schemas from the rows', async () => {
    const { tools } = await (await connect()).listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['tracker_labels_list', 'kv_check', 'labels_get', 'doctor']),
    );
    expect(names.length).toBeLessThanOrEqual(40);
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
  it('a tool returns data', async () => {
    const client = await connect();
    const { structuredContent } = await call(client, 'tracker_labels_list', { jq: 'map(.name)' });
    expect(structuredContent).toMatchObject({ exit_code: 0, result: expect.arrayContaining(['onboarding']) });
  });
  it('a change is rejected, and so are invalid arguments, both with a reason', async () => {
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
  it('an argument never becomes a flag', async () => {
    const client = await connect();
    const dash = await call(client, 'tracker_labels_get', { label: '--help' });
    expect([dash.isError, dash.content[0].text]).toEqual([true, expect.stringMatching(/label.*dash/)]);
    const named = await call(client, 'tracker_labels_get', { label: 'name:--help' });
    expect([named.isError, named.content[0].text]).toEqual([
      true,
      expect.stringContaining('label not found'),
    ]);
    const hidden = await call(client, 'kv_member_list', { endpoints: 'http://127.0.0.1:9', user: 'x' });
    expect([hidden.isError, hidden.content[0].text]).toEqual([
      true,
      expect.stringContaining('endpoints is not an argument of this tool'),
    ]);
  });
  it('--files lets tools read below a directory, and nowhere else', async () => {
    const directory = makeDirectory();
    writeFileSync(join(directory, 'label.yaml'), 'key: a\ntitle: A\n');
    symlinkSync('/etc/hostname', join(directory, 'link.yaml'));
    const client = await connect(['--files', directory]);
    const good = await call(client, 'labels_lint', { file: [join(directory, 'label.yaml')] });
    expect(good.isError ?? false).toBe(false);
    for (const file of ['/etc/hostname', join(directory, 'link.yaml'), join(directory, '../nosuch')]) {
      const other = await call(client, 'labels_lint', { file: [file] });
      expect([other.isError, other.content[0].text]).toEqual([
        true,
        expect.stringContaining(`is not in ${directory}`),
      ]);
    }
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

describe('tools with --allow-write', () => {
  const names = async (client: McpClient) =>
    (await call(client, 'tracker_labels_list', { jq: 'map(.name)' })).structuredContent.result as string[];
  it('a change is shown first, done with its token, and only once', async () => {
    const client = await connect(['--allow-write', '--group', 'tracker']);
    const first = await call(client, 'tracker_labels_create', { name: 'made by an agent' });
    expect(first.content[0].text).toMatch(/^No changes were made/);
    expect(await names(client)).not.toContain('made by an agent');
    const { approval } = first.structuredContent;
    const other = await call(client, 'tracker_labels_create', { name: 'another', approval });
    expect([other.isError, other.content[0].text]).toEqual([
      true,
      expect.stringMatching(/^Refused, and no changes were made/),
    ]);
    const done = await call(client, 'tracker_labels_create', { name: 'made by an agent', approval });
    expect(done.structuredContent.result).toMatchObject({ name: 'made by an agent' });
    expect(await names(client)).toContain('made by an agent');
    const again = await call(client, 'tracker_labels_create', { name: 'made by an agent', approval });
    expect(again.isError).toBe(true);
  });
  it('a token is invalid if the change would differ now', async () => {
    const client = await connect(['--allow-write', '--group', 'tracker']);
    const file = join(home, 'workspace.yaml');
    writeFileSync(file, 'labels:\n  - name: first\n');
    const { approval } = (await call(client, 'tracker_apply', { file })).structuredContent;
    writeFileSync(file, 'labels:\n  - name: second\n');
    expect((await call(client, 'tracker_apply', { file, approval })).isError).toBe(true);
    expect(await names(client)).not.toContain('second');
  });
  it('an upload is approved with its content and leaves no copy', async () => {
    // Programs of other tests use the common temporary directory at the same time.
    const temporary = makeDirectory('tmp-', home);
    const client = await connect(['--allow-write', '--group', 'tracker_files'], { TMPDIR: temporary });
    const file = join(home, 'upload.txt');
    writeFileSync(file, 'first');
    const { approval } = (await call(client, 'tracker_files_upload', { paths: [file] })).structuredContent;
    const done = await call(client, 'tracker_files_upload', { paths: [file], approval });
    expect(done.structuredContent.result).toMatchObject([{ name: 'upload.txt' }]);
    const again = await call(client, 'tracker_files_upload', { paths: [file] });
    writeFileSync(file, 'other');
    const given = { paths: [file], approval: again.structuredContent.approval };
    expect((await call(client, 'tracker_files_upload', given)).isError).toBe(true);
    expect(readdirSync(temporary).filter((name) => name.startsWith('opsctl-approved-'))).toEqual([]);
  });
  it('a body is never a file of this machine', async () => {
    const client = await connect(['--allow-write', '--group', 'tracker']);
    const answer = await call(client, 'tracker_labels_create', { body: '@/etc/passwd' });
    expect([answer.isError, answer.content[0].text]).toEqual([true, expect.stringContaining('not a file')]);
  });
  it('a command without a preview is not a tool', async () => {
    const { tools } = await (await connect(['--allow-write', '--group', 'all'])).listTools();
    const offered = tools.map(({ name }) => name);
    expect(offered).toEqual(expect.arrayContaining(['kv_upgrade', 'kv_defrag', 'tracker_apply']));
    for (const name of ['kv_fleet', 'mock_reset', 'config_set', 'login']) expect(offered).not.toContain(name);
  });
});

import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { lockFrom } from '../../../src/labels/lock-file.ts';
import { type Surrounding, surrounding } from './around.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding();
  await mkdir(join(at.directory, 'labels'));
});
afterEach(() => at.close());

const pathOf = (name: string): string => join(at.directory, 'labels', name);
const write = (name: string, text: string): Promise<void> => writeFile(pathOf(name), text);
const read = (name: string): Promise<string> => readFile(pathOf(name), 'utf8');
const done = async (...argv: string[]) => {
  const ran = await at.run(...argv);
  expect([argv, ran.code, ran.stderr]).toEqual([argv, 0, ran.stderr]);
  return ran;
};
/** Another editor changes a label. */
const edit = async (title: string, properties: Record<string, string>): Promise<void> => {
  const updateLabel = { properties, updateMask: Object.keys(properties).join() };
  const path = `/labels/${await at.id(title)}:delta`;
  expect((await at.server.send('POST', path, { requests: [{ updateLabel }] })).status).toBe(200);
};
const onRequest =
  (see: (url: string, body: string) => Promise<void> | void) =>
  (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      request: async (request) => {
        await see(request.url, typeof request.body === 'string' ? request.body : '');
        return host.network.request(request);
      },
    },
  });

test('adopt takes the revision out of files of earlier versions, and not in a dry run', async () => {
  await write('a.yaml', 'title: A\n');
  await done('apply', '-f', 'labels');
  await write('a.yaml', 'title: A\nrevision: "1"\ndescription: ours\n');
  await done('adopt', '-f', 'labels', '--dry-run');
  expect(await read('a.yaml')).toContain('revision');
  await done('adopt', '-f', 'labels');
  expect(await read('a.yaml')).toBe('title: A\ndescription: ours\n');
});

test('labels without a definition are reported for a whole directory, not for one file', async () => {
  await write('a.yaml', 'title: A\n');
  await write('b.yaml', 'title: B\n');
  await done('apply', '-f', 'labels');
  await done('adopt', '-f', 'labels');
  await rm(pathOf('b.yaml'));
  const orphans = async (file: string) => (await done('diff', '-f', file, '-o', 'json')).json().orphans;
  expect(await orphans('labels')).toEqual([{ key: 'b', id: await at.id('B'), title: 'B' }]);
  expect(await orphans('labels/a.yaml')).toEqual([]);
});

test('a dry run is rejected like its apply, unless it accepts remote changes', async () => {
  await write('a.yaml', 'title: A\ndescription: ours\n');
  await done('apply', '-f', 'labels');
  await done('adopt', '-f', 'labels');
  await edit('A', { description: 'theirs' });
  expect((await at.run('apply', '-f', 'labels', '--dry-run')).code).toBe(10);
  await done('apply', '-f', 'labels', '--dry-run', '--take', 'theirs');
  expect(await read('a.yaml')).toContain('ours');
  await done('apply', '-f', 'labels', '--take', 'theirs');
  expect(await read('a.yaml')).toContain('description: theirs');
  await done('diff', '-f', 'labels');
});

test('lint finds a record whose definition is gone, and a definition without a record', async () => {
  await write('a.yaml', 'title: A\n');
  await write('b.yaml', 'title: B\n');
  await done('apply', '-f', 'labels');
  await done('adopt', '-f', 'labels');
  expect((await at.run('lint', '-f', 'labels')).stdout).not.toContain('lock');
  await rm(pathOf('b.yaml'));
  await write('c.yaml', 'title: C\n');
  const { code, stdout } = await at.run('lint', '-f', 'labels', '-o', 'json');
  expect(code).not.toBe(0);
  expect(stdout).toContain('entry b of labels.lock.yaml');
  expect(stdout).not.toContain('entry a of labels.lock.yaml');
  expect(stdout).toContain('is not in the lock file');
});

test('the next apply clears the intentions of a killed apply and finds them applied', async () => {
  await write('a.yaml', 'title: A\n');
  await done('apply', '-f', 'labels');
  await done('adopt', '-f', 'labels');
  const lock = await read('labels.lock.yaml');
  await write('labels.lock.yaml', lock.replace(/^( +)digest: .*$/m, '$&\n$1applying: "0123456789ab"'));
  expect(await read('labels.lock.yaml')).toContain('applying');
  await done('apply', '-f', 'labels');
  expect(await read('labels.lock.yaml')).toBe(lock);
});

test('an exported file with the title as its name follows a rename; a custom name stays', async () => {
  await write('a.yaml', 'title: A\n');
  await write('chosen.yaml', 'title: B\n');
  await done('apply', '-f', 'labels');
  await done('export', '--all', '-f', 'labels');
  await edit('A', { title: 'New' });
  await edit('B', { title: 'Other' });
  await done('export', '--all', '-f', 'labels');
  const files = (await readdir(join(at.directory, 'labels'))).filter((name) => !name.includes('lock'));
  expect(files.filter((name) => name.endsWith('.yaml')).toSorted()).toEqual(['chosen.yaml', 'new.yaml']);
});

test('exports and applies record under the same service', async () => {
  await write('a.yaml', 'title: A\n');
  await done('apply', '-f', 'labels');
  await done('adopt', '-f', 'labels');
  await edit('A', { description: 'by another' });
  await done('export', '--all', '-f', 'labels');
  const { labels } = lockFrom('labels.lock.yaml', await read('labels.lock.yaml'));
  const deployments = Object.values(labels).map((one) => Object.keys(one.deployments));
  expect(deployments).toEqual([[at.server.mock.origin]]);
});

test('a label that a concurrent apply changed first still gets its permissions', async () => {
  await write('a.yaml', 'title: A\n');
  await done('apply', '-f', 'labels');
  const id = await at.id('A');
  await write(
    'a.yaml',
    `id: ${id}\ntitle: A\ndescription: ours\npermissions: [{role: READER, email: reader@example.com}]\n`,
  );
  let isFirst = true;
  const meanwhile = onRequest(async (url) => {
    if (!url.endsWith(':delta') || !isFirst) return;
    isFirst = false;
    await edit('A', { description: 'ours' });
  });
  expect((await at.runOn(meanwhile, 'apply', '-f', 'labels', '--yes')).code).toBe(0);
  expect(isFirst).toBe(false);
  const { json } = await at.server.send('GET', `/labels/${id}/permissions`);
  expect(json.labelPermissions.map(({ email }: { email?: string }) => email)).toContain('reader@example.com');
});

test('--admin requests admin rights for every change, and other runs never request them', async () => {
  const changes: string[] = [];
  const noted = onRequest((url, body) => {
    if (body !== '') changes.push(url + body);
  });
  await write('a.yaml', 'title: A\n');
  await at.runOn(noted, 'apply', '-f', 'labels', '--publish');
  const id = await at.id('A');
  expect(changes.filter((one) => one.includes('useAdminAccess'))).toEqual([]);
  changes.splice(0);
  await write('a.yaml', `id: ${id}\ntitle: A\ndescription: new\n`);
  expect((await at.runOn(noted, 'apply', '-f', 'labels', '--publish', '--admin')).code).toBe(0);
  expect(changes).toHaveLength(2);
  expect(changes.filter((one) => /"useAdminAccess":true/.test(one))).toHaveLength(2);
});

test('a lock file that is not YAML is refused with the line', async () => {
  await write('a.yaml', 'title: A\n');
  await write('labels.lock.yaml', 'version: 1\n"b\n c": 2\n');
  const ran = await at.run('apply', '-f', 'labels');
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('is not YAML (line 2)')]);
});

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codeCache } from '../support/code-cache.ts';
import { base64, call, gatewayPut, hasBinaries, type RealCluster, startCluster } from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
let built: ChildProcess | undefined;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  built?.kill('SIGKILL');
  built = undefined;
  await cluster?.stop();
});
const kv = (...words: string[]) => opsctl(['kv', ...words, '--cluster', cluster.file, '--yes'], { home });
const rows = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const until = async (what: () => boolean | Promise<boolean>): Promise<void> =>
  expect.poll(what, { interval: 25 }).toBe(true);

describe.runIf(hasBinaries('3.5'))('kv watch and kv lease on real members of 3.5', () => {
  it('watch prints history and what happens, continues at another member, and ends by Ctrl-C', async () => {
    cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const [first, second] = cluster.urls as [string, string];
    await gatewayPut(second, 'app/1', 'a', '/v3');
    const words = [
      'kv',
      'watch',
      'app/',
      '--prefix',
      '--rev',
      '1',
      '--cluster',
      cluster.file,
      '-o',
      'ndjson',
    ];
    const env = { PATH: process.env.PATH, HOME: home, OPSCTL_HOME: home, ...codeCache };
    const running = spawn(process.execPath, [join(import.meta.dirname, '../../bin/opsctl.js'), ...words], {
      env,
    });
    built = running;
    let [text, stderr] = ['', ''];
    running.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    running.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    const ended = new Promise<number | null>((done) => running.once('close', done));
    await until(() => rows(text).length === 1);
    const [n1] = cluster.members;
    if (n1 === undefined) throw new Error('no member');
    expect(n1.client_url).toBe(first);
    cluster.kill(n1, 'SIGKILL');
    await cluster.gone(n1);
    for (const n of [2, 3, 4])
      await until(() =>
        gatewayPut(second, `app/${n}`, String(n), '/v3').then(
          () => true,
          () => false,
        ),
      );
    await call(`${second}/v3/kv/deleterange`, { key: base64('app/2') });
    await until(() => rows(text).length === 5);
    running.kill('SIGINT');
    const code = await ended;
    expect(rows(text).map(({ type, key }) => `${type} ${key}`)).toEqual([
      ...['PUT app/1', 'PUT app/2', 'PUT app/3', 'PUT app/4', 'DELETE app/2'],
    ]);
    expect(stderr).toContain('the watch continues on another member from revision');
    expect(code).toBe(130);
  });

  it('watch explains a compaction, filters, and ends at its limit', async () => {
    cluster = await startCluster({ size: 1, from: '3.5', to: '3.5' });
    const [url] = cluster.urls as [string];
    for (const n of [1, 2, 3, 4]) await gatewayPut(url, 'k', String(n), '/v3');
    await call(`${url}/v3/kv/deleterange`, { key: base64('k') });
    const only = await kv(
      'watch',
      'k',
      '--rev',
      '2',
      '--only',
      'delete',
      '--limit',
      '1',
      '--prev-kv',
      '-o',
      'ndjson',
    );
    expect(rows(only.stdout)).toMatchObject([{ type: 'DELETE', key: 'k', previous: { value: '4' } }]);
    expect((await kv('compact', '4')).code).toBe(0);
    const gone = await kv('watch', 'k', '--rev', '2', '-o', 'ndjson');
    expect(gone.code).toBe(5);
    expect(gone.stderr).toContain('a compaction removed revisions 2 to 3');
    expect(gone.stderr).toContain('--rev 4');
    const left = await kv('watch', 'k', '--rev', '4', '--limit', '2', '-o', 'ndjson');
    expect(rows(left.stdout).map(({ mod_revision }) => mod_revision)).toEqual([4, 5]);
    await cluster.stop();
    const dead = await kv('watch', 'k', '-o', 'ndjson');
    expect(dead.code).not.toBe(0);
  });

  it('a lease is granted, kept alive, and revoked with its keys', async () => {
    cluster = await startCluster({ size: 1, from: '3.5', to: '3.5' });
    const granted = (await kv('lease', 'grant', '60', '-o', 'json')).json();
    expect(granted.granted_ttl_seconds).toBe(60);
    expect((await kv('put', 'a', 'b', '--lease', granted.id)).code).toBe(0);
    const kept = await kv('lease', 'keep-alive', granted.id, '--once', '-o', 'json');
    expect(JSON.parse(kept.stdout)).toEqual([{ id: granted.id, ttl_seconds: 60 }]);
    expect((await kv('lease', 'list', '-o', 'name')).stdout).toContain(granted.id);
    const revoked = (await kv('lease', 'revoke', granted.id, '-o', 'json')).json();
    expect(revoked).toEqual({ id: granted.id, deleted_keys: 1 });
    expect((await kv('get', 'a')).code).toBe(6);
    expect((await kv('lease', 'keep-alive', granted.id, '--once')).code).toBe(6);
    expect((await kv('lease', 'revoke', granted.id)).code).toBe(6);
    expect((await kv('lease', 'grant', '0')).code).toBe(2);
  });
});

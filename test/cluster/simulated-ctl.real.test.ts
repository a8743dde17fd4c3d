import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { type Binaries, binariesOf, hasBinaries } from '../support/cluster.ts';
import { type Simulated, simulated } from '../support/simulated.ts';

/** The etcdctl programs from Debian connect to simulated members over gRPC. */
describe.each(['3.3', '3.4', '3.5'].filter((minor) => hasBinaries(minor)))('the ctl of %s', (minor) => {
  let home: Program;
  let cluster: Simulated;
  beforeAll(async () => {
    home = program();
    cluster = await simulated(home, '--version', (binariesOf(minor) as Binaries).version, '--members', '3');
  });
  afterAll(async () => {
    await cluster?.stop();
  });
  const ctl = (...args: string[]): Promise<{ code: unknown; out: string }> =>
    new Promise((done) => {
      const { ctl: path } = binariesOf(minor) as Binaries;
      const env = { PATH: process.env['PATH'] ?? '', HOME: home.home, ETCDCTL_API: '3' };
      execFile(path, args, { env, timeout: 300_000 }, (error, stdout, stderr) =>
        done({ code: error === null ? 0 : (error.code ?? 'killed'), out: `${stdout}${stderr}` }),
      );
    });
  /**
   * Addresses without a scheme: up to 3.4 some calls put the whole URL into `:authority`, which HTTP/2 in
   * Node.js rejects as malformed.
   */
  const addresses = (): string[] => cluster.urls.map((url) => new URL(url).host);
  const one = (): string => `--endpoints=${addresses()[0]}`;
  const all = (): string => `--endpoints=${addresses().join(',')}`;

  it('writes, reads in order, deletes with the old value', async () => {
    await ctl(all(), 'put', 'ctl/a', '1');
    await ctl(all(), 'put', 'ctl/b', '2');
    expect((await ctl(all(), 'get', '--prefix', 'ctl/', '--order=DESCEND', '--sort-by=KEY')).out).toBe(
      'ctl/b\n2\nctl/a\n1\n',
    );
    expect((await ctl(all(), 'del', 'ctl/a', '--prev-kv')).out).toBe('1\nctl/a\n1\n');
  });
  it('sees status, health and members of all', async () => {
    const status = JSON.parse((await ctl(all(), 'endpoint', 'status', '-w', 'json')).out);
    expect(status.map(({ Status }: { Status: { version: string } }) => Status.version)).toEqual(
      Array(3).fill((binariesOf(minor) as Binaries).version),
    );
    expect((await ctl(all(), 'endpoint', 'health')).out.match(/is healthy/g)).toHaveLength(3);
    expect(JSON.parse((await ctl(one(), 'member', 'list', '-w', 'json')).out).members).toHaveLength(3);
  });
  it('compares hashes, defragments, lists alarms', async () => {
    const hashes = JSON.parse((await ctl(all(), 'endpoint', 'hashkv', '-w', 'json')).out);
    expect(new Set(hashes.map(({ HashKV }: { HashKV: { hash: number } }) => HashKV.hash)).size).toBe(1);
    expect((await ctl(all(), 'defrag')).out.match(/Finished defragmenting/g)).toHaveLength(3);
    expect(await ctl(one(), 'alarm', 'list')).toEqual({ code: 0, out: '' });
  });
  it('saves a snapshot that it accepts itself', async () => {
    const file = join(home.home, `snapshot-${minor}.db`);
    expect((await ctl(one(), 'snapshot', 'save', file)).code).toBe(0);
    const status = await ctl('snapshot', 'status', file, '-w', 'json');
    expect(status.code, status.out).toBe(0);
    expect(status.out).toContain('"totalKey"');
  });
  it('the ctl reports unsupported calls of a simulated member', async () => {
    const { code, out } = await ctl(one(), 'watch', 'x');
    expect(code).not.toBe(0);
    expect(out).toContain('unknown method Watch');
  });
});

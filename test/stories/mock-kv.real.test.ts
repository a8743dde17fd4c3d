import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codeCache } from '../support/code-cache.ts';
import { startOptions } from '../../src/commands/mock/kv-start.ts';
import { startRehearsal } from '../../src/etcd-sim/cluster/start.ts';
import { type Ended, type Program, program } from '../support/built-program.ts';
import { realHost } from '../support/real-host.ts';
import { errorOf } from '../support/facts.ts';

let home: Program;
let dir: string;
beforeEach(() => {
  home = program();
  dir = join(home.home, 'rehearsal');
});
afterEach(async () => {
  await home.run(['mock', 'kv', 'stop', '--dir', dir, '--kill']);
});
const kv = (verb: string, ...args: string[]): Promise<Ended> =>
  home.run(['mock', 'kv', verb, ...args, '--dir', dir]);
const complaint = ({ stderr }: Ended) => errorOf({ stderr });

describe('opsctl mock kv', () => {
  it('mock kv reports what it is, the next command, and all locations', async () => {
    const started = await kv('start', '--members', '1', '-o', 'table');
    expect(started.code).toBe(0);
    expect(started.stdout).toContain('This is a rehearsal, not a database.');
    expect(started.stdout).toContain(`opsctl kv upgrade --cluster ${dir}/cluster.yaml`);
    for (const name of ['cluster.yaml', 'bin/kv-3.2.32', 'bin/kv-3.3.27', 'n1.log', 'n1.pid'])
      expect(existsSync(join(dir, name)), name).toBe(true);
    expect(readFileSync(join(dir, 'cluster.yaml'), 'utf8')).toContain('It is not a database.');
    const listed = async () => JSON.parse((await home.run(['kv', 'clusters'])).stdout);
    const row = { cluster: 'rehearsal', version: '3.2', cluster_file: `${dir}/cluster.yaml` };
    expect(await listed()).toMatchObject([{ ...row, simulated: '1 of 1 running', last_run: null }]);
    await kv('stop', '--kill');
    expect(await listed()).toMatchObject([{ ...row, simulated: 'stopped' }]);
  });
  it('two directories are two clusters: their runs and locks are not one', async () => {
    const names = await Promise.all(
      ['shop', 'bank', 'mock-kv', 'cluster', '1 odd'].map(async (directory) => {
        const at = join(home.home, 'several', directory);
        await home.run(['mock', 'kv', 'start', '--members', '1', '--dir', at]);
        await home.run(['mock', 'kv', 'stop', '--kill', '--dir', at]);
        return /^name: (.*)$/m.exec(readFileSync(join(at, 'cluster.yaml'), 'utf8'))?.[1];
      }),
    );
    expect(names).toEqual(['shop', 'bank', 'rehearsal', 'rehearsal', 'rehearsal']);
  });
  it('TAB offers the members of the cluster file that the line names, versions and guards', async () => {
    await kv('start', '--members', '3');
    const tab = async (...words: string[]) =>
      (await home.run(['__complete', ...words])).stdout.trim().split('\n');
    const file = join(dir, 'cluster.yaml');
    expect(await tab('kv', 'move-leader', '--cluster', file, '')).toEqual(['n1', 'n2', 'n3']);
    expect(await tab('kv', 'snapshot', 'save', `--cluster=${file}`, '--member', 'n')).toEqual([
      'n1',
      'n2',
      'n3',
    ]);
    expect(await tab('mock', 'kv', 'fault', '--dir', dir, '--member', '')).toEqual(['n1', 'n2', 'n3']);
    expect(await tab('kv', 'move-leader', '--cluster', join(dir, 'nothing.yaml'), '')).toEqual(['']);
    expect(await tab('kv', 'upgrade', '--to', '')).toEqual(['3.3', '3.4', '3.5', '3.6', '3.7']);
    expect(await tab('kv', 'upgrade', '--accept', 'quor')).toEqual(['quorum-survives']);
    expect(await tab('mock', 'kv', 'fault', 'cr')).toEqual(['crash-at-start']);
    const runs = join(home.home, 'state', 'kv-clusters', 'rehearsal');
    for (const run of ['20260331T120000Z-0001', '20260401T120000Z-0002'])
      mkdirSync(join(runs, run), { recursive: true });
    expect(await tab('kv', 'report', '--cluster', file, '')).toEqual([
      '20260401T120000Z-0002',
      '20260331T120000Z-0001',
    ]);
  });
  it('a member with damaged files names them, and the start exits with code 3', async () => {
    await kv('start', '--members', '1');
    await kv('stop');
    mkdirSync(join(dir, 'faults'), { recursive: true });
    writeFileSync(join(dir, 'faults', 'n1.json'), 'null');
    const { code, stderr } = await kv('start', '--again');
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/n1 ended: error: .*faults\/n1\.json is damaged/),
    ]);
  });
  it('the generated binaries print their version', async () => {
    await kv(
      'start',
      '--members',
      '1',
      '--version',
      '3.4.23',
      '--new-version',
      '3.5.16',
      '--field-words',
      'etcd',
    );
    const said = await new Promise<string>((resolve) => {
      let text = '';
      const child = spawn(join(dir, 'bin/etcd-3.5.16'), ['--version']);
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      child.once('close', () => resolve(text));
    });
    expect(said.split('\n')[0]).toBe('etcd Version: 3.5.16');
    expect(readFileSync(join(dir, 'n1.log'), 'utf8')).toContain('etcd Version: 3.4.23');
  });
  it('keeps its hands off directories that are not its own, and off running clusters', async () => {
    mkdirSync(dir);
    writeFileSync(join(dir, 'mine.txt'), 'mine');
    const other = await kv('start', '-o', 'json');
    expect([other.code, complaint(other).code]).toEqual([10, 'DIRECTORY_NOT_EMPTY']);
    expect(readFileSync(join(dir, 'mine.txt'), 'utf8')).toBe('mine');
    dir = join(home.home, 'second');
    await kv('start', '--members', '1');
    const running = await kv('start', '--replace', '-o', 'json');
    expect([running.code, complaint(running).code]).toEqual([10, 'ALREADY_RUNNING']);
    await kv('stop');
    const stopped = await kv('start', '-o', 'json');
    expect([stopped.code, complaint(stopped).code]).toEqual([10, 'DIRECTORY_NOT_EMPTY']);
    expect((await kv('start', '--replace', '--members', '1')).code).toBe(0);
  });
  it('members stop, start again with their data, and show their state', async () => {
    await kv('start');
    const { endpoints } = JSON.parse(readFileSync(join(dir, 'rehearsal.json'), 'utf8')).members.reduce(
      (sum: { endpoints: string[] }, member: { clientUrl: string }) => ({
        endpoints: [...sum.endpoints, member.clientUrl],
      }),
      { endpoints: [] },
    );
    await fetch(`${endpoints[0]}/v3alpha/kv/put`, {
      method: 'POST',
      body: JSON.stringify({ key: 'YQ==', value: 'MQ==' }),
    });
    expect((await kv('stop')).code).toBe(0);
    const off = JSON.parse((await kv('status', '-o', 'json')).stdout);
    expect(
      off.map(({ pid, is_healthy }: { pid: unknown; is_healthy: boolean }) => [pid, is_healthy]),
    ).toEqual([
      [null, false],
      [null, false],
      [null, false],
    ]);
    expect((await kv('start', '--again')).code).toBe(0);
    const read = await fetch(`${endpoints[2]}/v3alpha/kv/range`, {
      method: 'POST',
      body: JSON.stringify({ key: 'YQ==' }),
    }).then((reply) => reply.json() as any);
    expect(read.kvs[0].value).toBe('MQ==');
    const on = JSON.parse((await kv('status', '-o', 'json')).stdout);
    expect(on.filter(({ is_leader }: { is_leader: boolean }) => is_leader)).toHaveLength(1);
    expect((await kv('log', '--member', 'n2', '--lines', '3')).stdout.trim().split('\n')).toHaveLength(3);
  });
  it('a member that cannot start ends the command immediately with its reason, and no member remains', async () => {
    const machine = await realHost();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    try {
      const free = await machine.host.network.freePorts(6);
      const network = {
        ...machine.host.network,
        freePorts: async () => free.map((one, i) => (i === 2 ? port : one)),
      };
      const bin = process.env.OPSCTL_TEST_BIN ?? new URL('../../bin/opsctl.js', import.meta.url).pathname;
      const host = { ...machine.host, network, self: [process.execPath, bin] as [string, string] };
      await expect(startRehearsal(host, dir, startOptions({}), { mayReplace: false })).rejects.toMatchObject({
        message: expect.stringMatching(
          new RegExp(
            `^simulated member n2 ended: .*listen tcp 127.0.0.1:${port}: bind: address already in use$`,
          ),
        ),
        detail: { tryThis: [`see ${dir}/n2.log`] },
      });
      const members = JSON.parse((await kv('status', '-o', 'json')).stdout);
      expect(members.map(({ pid }: { pid: number | null }) => pid)).toEqual([null, null, null]);
    } finally {
      taken.close();
      await machine.close();
    }
  });
  it('faults are listed and taken back; unknown members and faults are usage errors', async () => {
    await kv('start', '--members', '1');
    await kv('fault', 'slow', '--member', 'n1', '--ms', '5');
    await kv('fault', 'crash-at-start', '--only-version', '3.3');
    expect(JSON.parse((await kv('status', '-o', 'json')).stdout)[0].faults).toEqual([
      'slow 5 ms',
      'crash-at-start only 3.3',
    ]);
    await kv('fault', 'clear');
    expect(JSON.parse((await kv('status', '-o', 'json')).stdout)[0].faults).toEqual([]);
    expect((await kv('fault', 'slow', '--member', 'n9')).code).toBe(2);
    const typed = await kv('fault', 'slwo', '-o', 'json');
    expect([typed.code, typed.stderr]).toEqual([2, expect.stringContaining('slow')]);
  });
  it('a directory without a cluster is not found', async () => {
    const none = await kv('status', '-o', 'json');
    expect([none.code, complaint(none).code]).toEqual([6, 'NO_REHEARSAL']);
  });
  it('v2 data is announced, returned by the interface and included in the plan', async () => {
    await kv('start', '--v2-size', '60000000');
    const file = join(dir, 'cluster.yaml');
    const plan = await home.run(['kv', 'plan', '--cluster', file, '--copy-data', '-o', 'json']);
    const waits = JSON.parse(plan.stdout).steps.filter(({ kind }: { kind: string }) => kind === 'settle');
    expect(waits.map(({ wait_seconds }: { wait_seconds: number }) => wait_seconds)).toEqual([120, 120]);
  });
});

describe('mock kv on a terminal', () => {
  it('an upgrade is shown as a table that is drawn over itself, and ends as the last one stands', async () => {
    await kv('start', '--monitor-ms', '300');
    const command = `stty cols 100; ${process.execPath} ${process.env.OPSCTL_TEST_BIN ?? new URL('../../bin/opsctl.js', import.meta.url).pathname} kv upgrade --cluster ${dir}/cluster.yaml --yes --accept-point-of-no-return --stable-for 0`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: home.home, OPSCTL_HOME: home.home, TERM: 'xterm', ...codeCache },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (screen += chunk));
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    const frames = screen
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the screen's own commands
      .replaceAll(/\u001b\[[0-9;]*m/g, '')
      .split('\u001b[J')
      .slice(1);
    expect(frames.length).toBeGreaterThan(5);
    expect(frames.some((frame) => /n\d +3\.[23]\.\d+ +down/.test(frame))).toBe(true);
    const last = frames.at(-1) ?? '';
    for (const name of ['n1', 'n2', 'n3'])
      expect(last).toMatch(new RegExp(`${name} +3\\.3\\.27 .*✓ .*✓ .*✓ .*✓`));
    expect(last).toContain('✓ cluster rehearsal runs 3.3');
  });
});

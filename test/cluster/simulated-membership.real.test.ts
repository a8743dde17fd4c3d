import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/platform/node/ports.ts';
import { type Program, program } from '../support/built-program.ts';
import {
  type Binaries,
  binariesOf,
  call,
  hasBinaries,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import {
  AmbiguousResponse,
  type Scene,
  type Told,
  eventually,
  listedAt,
  membershipScene,
} from '../support/membership-scene.ts';
import { type Simulated, lostAt, simulated, startWriting } from '../support/simulated.ts';

let home: Program | undefined;
let sim: Simulated | undefined;
let real: RealCluster | undefined;
const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  await sim?.stop();
  await real?.stop();
  await home?.close();
  home = sim = real = undefined;
});

const VERSION = '3.5.16';
const simulate = async (...flags: string[]): Promise<Simulated> => {
  home = program();
  return simulated(home, '--version', VERSION, '--new-version', '3.6.14', '--members', '3', ...flags);
};
const urls = async (count: number): Promise<string[]> =>
  (await freePorts(count)).map((port) => `http://127.0.0.1:${port}`);
const starts =
  (server: string, directory: string): Scene['start'] =>
  (name, data, flags) => {
    const words = ['--name', name, '--data-dir', join(directory, data), ...flags];
    const child = spawn(server, words, { stdio: 'ignore' });
    started.push(child);
    return child;
  };
const peerUrlsOf = async (url: string): Promise<string[]> =>
  (await listedAt(url))
    .toSorted((a, b) => (a.name ?? '').localeCompare(b.name ?? ''))
    .flatMap(({ peerURLs }) => peerURLs);

/**
 * Omits the exit code of a removed member that restarts. It depends on whether the member receives its
 * removal immediately or later.
 */
const comparable = (told: Record<string, unknown>): Record<string, unknown> => {
  const { 'a removed member starts again': _, ...rest } = told;
  // Ports differ, and the real servers list members by id.
  const members = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(members).toSorted((a, b) => compare(a, b));
    if (typeof value !== 'object' || value === null)
      return typeof value === 'string' ? value.replaceAll(/:\d+/g, ':N') : value;
    const sorted = Object.entries(value).toSorted(([a], [b]) => a.localeCompare(b));
    return Object.fromEntries(sorted.map(([key, one]) => [key, members(one)]));
  };
  return members(rest) as Record<string, unknown>;
};
/** Returns a line for each request with a different response, for the test output. */
const differences = (real: Told, simulated: Told): string[] => {
  const [expected, got] = [comparable(real), comparable(simulated)];
  return [...new Set([...Object.keys(expected), ...Object.keys(got)])]
    .map((what) => [what, JSON.stringify(expected[what]), JSON.stringify(got[what])])
    .filter(([, one, other]) => one !== other)
    .map(([what, one, other]) => `${what}: real ${one}, simulated ${other}`);
};
const compare = (a: unknown, b: unknown): number => JSON.stringify(a).localeCompare(JSON.stringify(b));

describe.runIf(hasBinaries('3.5'))('membership calls on real 3.5 members and on simulated ones', () => {
  const realScene = async (): Promise<Told> => {
    real = await startCluster({ size: 3, from: '3.5', to: '3.5' });
    const { members, urls: clients, directory } = real;
    /**
     * Returns whether n1 counts the member as connected. A removed member may remain in the metrics of n1.
     */
    const isConnected = async (id: string): Promise<boolean> => {
      const { text } = await call(`${clients[0]}/metrics`);
      const peers = [...text.matchAll(/^etcd_network_active_peers\{.*Remote="(\w+)"\} 1$/gm)];
      return peers.some(([, remote]) => remote === BigInt(id).toString(16));
    };
    return membershipScene({
      urls: clients,
      peerUrls: members.map(({ peer_url }) => peer_url),
      free: await urls(4),
      start: starts((binariesOf('3.5') as Binaries).server, directory),
      kill: async (name, id) => {
        const member = members.find((one) => one.name === name) as RealMember;
        await eventually('n1 is connected to it', () => isConnected(id));
        real?.kill(member, 'SIGKILL');
        await eventually('n1 knows that it is gone', async () => !(await isConnected(id)));
      },
    });
  };
  const simulatedScene = async (): Promise<Told> => {
    const own = await simulate();
    sim = own;
    return membershipScene({
      urls: own.urls,
      peerUrls: await peerUrlsOf(own.urls[0] as string),
      free: await urls(4),
      start: starts(join(own.dir, 'bin', `kv-${VERSION}`), own.dir),
      kill: async (name, id) => {
        process.kill(Number(readFileSync(join(own.dir, `${name}.pid`), 'utf8')), 'SIGKILL');
        const said = new RegExp(`peer ${BigInt(id).toString(16)} became (active|inactive)`, 'g');
        await eventually(
          'n1 knows that it is gone',
          async () => [...own.log('n1').matchAll(said)].at(-1)?.[1] === 'inactive',
        );
      },
    });
  };
  /** Plays the scene on a new cluster until each of its changes has a response. */
  const played = async (scene: () => Promise<Told>, close: () => Promise<void>): Promise<Told> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await scene();
      } catch (error) {
        if (!(error instanceof AmbiguousResponse) || tries === 3) throw error;
      } finally {
        for (const child of started.splice(0)) child.kill('SIGKILL');
        await close();
      }
    }
  };
  it('every request has the same response: errors, a joining learner, its promotion, removals', async () => {
    const fromReal = await played(realScene, async () => {
      await real?.stop();
      real = undefined;
    });
    const fromSimulated = await played(simulatedScene, async () => {
      await sim?.stop();
      await home?.close();
      home = sim = undefined;
    });
    expect(differences(fromReal, fromSimulated)).toEqual([]);
    expect(Object.keys(fromReal).length).toBeGreaterThan(40);
  });
});

describe('operations on the members of a simulated cluster', () => {
  const kv = (...words: string[]) =>
    (home as Program).run(['kv', ...words, '--cluster', (sim as Simulated).file, '--yes', '-o', 'json']);
  const done = async (...words: string[]) => {
    const ran = await kv(...words);
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    return JSON.parse(ran.stdout);
  };

  it('kv member add, promote, update and remove under writes lose no data', async () => {
    sim = await simulate();
    const writing = startWriting(sim.urls, {}, '/v3');
    const [client, peer, moved] = (await urls(3)) as [string, string, string];
    const added = await done('member', 'add', 'n4', '--peer-urls', peer, '--learner');
    const { start_with: start } = added.steps[0].detail;
    const early = await kv('member', 'promote', added.steps[0].detail.member_id);
    expect(early.code).toBe(10);
    starts(join(sim.dir, 'bin', `kv-${VERSION}`), sim.dir)('n4', 'n4.data', [
      ...['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer],
      ...['--initial-advertise-peer-urls', peer, '--initial-cluster', start.ETCD_INITIAL_CLUSTER],
      ...['--initial-cluster-state', start.ETCD_INITIAL_CLUSTER_STATE],
    ]);
    await eventually('it has started', async () =>
      (await listedAt(sim?.urls[0] as string)).some(({ name }) => name === 'n4'),
    );
    await done('member', 'promote', 'n4');
    await eventually('it is healthy', async () => (await call(`${client}/health`)).status === 200);
    const wrote = await writing.stop();
    expect(wrote.failed).toBe(0);
    expect(wrote.acknowledged.length).toBeGreaterThan(20);
    for (const url of [...sim.urls, client])
      await eventually('it has every write', async () => (await lostAt(url, wrote, '/v3')).length === 0);
    await done('member', 'update', 'n4', '--peer-urls', moved);
    await done('member', 'remove', 'n4');
    expect((await listedAt(sim.urls[0] as string)).map(({ name }) => name)).toEqual(['n1', 'n2', 'n3']);
  });

  it('kv replace-member after the loss of a data directory under writes adds a new member without data loss', async () => {
    sim = await simulate();
    const own = sim;
    const writing = startWriting(own.urls, {}, '/v3');
    const before = (await listedAt(own.urls[0] as string)).find(({ name }) => name === 'n2')?.ID;
    process.kill(Number(readFileSync(join(own.dir, 'n2.pid'), 'utf8')), 'SIGKILL');
    await eventually('it is gone', async () =>
      call(`${own.urls[1]}/version`).then(
        () => false,
        () => true,
      ),
    );
    rmSync(join(own.dir, 'n2.data'), { recursive: true, force: true });
    const report = await done('replace-member', 'n2');
    expect(report).toMatchObject({ outcome: 'done', operation: 'replace-member' });
    const wrote = await writing.stop();
    expect(wrote.failed).toBe(0);
    const now = await listedAt(own.urls[0] as string);
    expect(now.map(({ name, isLearner }) => [name, isLearner === true]).sort()).toEqual([
      ['n1', false],
      ['n2', false],
      ['n3', false],
    ]);
    expect(now.find(({ name }) => name === 'n2')?.ID).not.toBe(before);
    for (const url of own.urls)
      await eventually('it has every write', async () => (await lostAt(url, wrote, '/v3')).length === 0);
  });
});

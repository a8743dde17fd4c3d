/**
 * One direction of a connection between two members is cut, as by a firewall rule of one host. Raft still works through the
 * connections that the other member opens, so clients see no fault.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { call, hasBinaries, type RealCluster, startCluster } from '../support/cluster.ts';
import { cutNetwork, type CutNetwork } from '../support/cut-network.ts';
import { makeDirectory } from '../support/directory.ts';
import { hangMs } from '../support/hang.ts';
import { opsctl } from '../support/program.ts';
import { whenJournal } from '../support/when-journal.ts';

let network: CutNetwork;
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
  network?.close();
});
const start = async (
  from: string,
  to: string,
  prefix: string,
  extra: readonly string[] = [],
): Promise<void> => {
  network = cutNetwork();
  const settings = { timeouts: { gate_seconds: 15 } };
  cluster = await startCluster({ size: 3, from, to, front: network.open, settings, extra });
  cluster.write(settings);
  for (const { client_url, name } of cluster.members) {
    const { header } = JSON.parse((await call(`${client_url}${prefix}/maintenance/status`, {})).text);
    network.knows(BigInt(header.member_id).toString(16), name);
  }
};
const kv = (words: readonly string[], host?: Parameters<typeof opsctl>[1]['host']) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], {
    home,
    ...(host === undefined ? {} : { host }),
  });
/** The members notice a lost connection after some time. */
const checkUntilShown = async (text: string): Promise<Awaited<ReturnType<typeof kv>>> => {
  const until = Date.now() + hangMs;
  for (;;) {
    const checked = await kv(['check']);
    if (checked.stdout.includes(text)) return checked;
    if (Date.now() > until) expect.fail(`no check shows "${text}"; the last one printed ${checked.stdout}`);
  }
};
const upgrade = ['upgrade', '--yes', '--accept-point-of-no-return'] as const;
/** The first and the last member of the order of the run. The last one is the leader. */
const orderOf = (journal: string): readonly [string, string] => {
  const [opened = ''] = readFileSync(journal, 'utf8').split('\n');
  const { order } = JSON.parse(opened).plan;
  return [order.at(0), order.at(-1)];
};
/**
 * A cluster that has run for days: requests to /health have moved the lines about connections out of the end of the log, and
 * 3.3 has no metric for connections.
 */
describe.runIf(hasBinaries('3.3', '3.4'))('3.3 without lines about connections', () => {
  const forgetLines = (): void => {
    for (const { log_file } of cluster.members) {
      const text = readFileSync(log_file, 'utf8');
      writeFileSync(
        log_file,
        text.replaceAll(/^.*rafthttp.*$/gm, '2026-01-01 00:00:00.000000 D | etcdhttp: /health OK'),
      );
    }
  };
  it('passes with all connections, and fails with one blocked direction', { timeout: 600_000 }, async () => {
    await start('3.3', '3.4', '/v3beta');
    forgetLines();
    const levels = async (): Promise<unknown> => {
      const { findings } = JSON.parse((await kv(['check'])).stdout);
      return findings
        .filter(({ guard }: { guard: string }) => guard === 'peer-links')
        .map(({ level, member }: { level: string; member?: string }) => [level, member]);
    };
    expect(await levels()).toEqual([['pass', undefined]]);
    network.cutOneWay('n2', 'n1', 'silent');
    // The server notices after its read timeout of five seconds.
    await new Promise((resolve) => setTimeout(resolve, 7000));
    forgetLines();
    expect(await levels()).toEqual([['fail', 'n2']]);
    const before = cluster.members.map((member) => cluster.pid(member));
    expect((await kv(upgrade)).code).toBe(10);
    expect(cluster.members.map((member) => cluster.pid(member))).toEqual(before);
  });
});
/** A machine that performs one action once: immediately before the run requests the first member to exit. */
const atStopSignal =
  (act: (journal: string) => void) =>
  (host: Host): Host => {
    let journal: string | undefined;
    const watching = whenJournal(/"begin","step":"\w+\.stop"/, (path) => {
      journal = path;
    })(host);
    return {
      ...watching,
      processes: {
        ...watching.processes,
        signal: (pid, signal) => {
          if (journal !== undefined && signal === 'SIGTERM') act(journal);
          journal = undefined;
          return watching.processes.signal(pid, signal);
        },
      },
    };
  };
/** `from it`: the restarted member cannot open connections to the leader. `to it`: the other way round. */
type Direction = 'from it' | 'to it';
const isSoak = process.env['OPSCTL_SOAK'] === '1';
const versionPairs = [
  ['3.4', '3.5', '/v3'],
  ...(isSoak ? ([['3.3', '3.4', '/v3beta']] as const) : []),
] as const;

describe.each(versionPairs)('one direction of a link, %s → %s', (from, to, prefix) => {
  it.runIf(hasBinaries(from, to))(
    'a check names the direction, and no member is stopped',
    {
      timeout: 600_000,
    },
    async () => {
      await start(from, to, prefix);
      network.cutOneWay('n2', 'n1', 'refused');
      const shown = 'n2 has no connection to n1';
      const checked = await checkUntilShown(shown);
      expect(checked.code).toBe(20);
      const before = cluster.members.map((member) => cluster.pid(member));
      expect((await kv(upgrade)).code).toBe(10);
      expect(cluster.members.map((member) => cluster.pid(member))).toEqual(before);
    },
  );

  it.runIf(hasBinaries(from, to)).each<['refused' | 'silent', Direction, ('warn' | undefined)?]>([
    ['silent', 'from it'],
    ['silent', 'to it'],
    // With this level the log has warnings and errors only: the lines about opened connections are absent.
    ['refused', 'from it', from === '3.4' ? 'warn' : undefined],
    ...(isSoak ? ([['refused', 'to it']] satisfies ['refused', Direction][]) : []),
  ])(
    'an upgrade stops no second member if connections are %s %s (log level: %s)',
    {
      timeout: 600_000,
    },
    async (how, direction, level) => {
      await start(from, to, prefix, level === undefined ? [] : ['--logger=zap', `--log-level=${level}`]);
      const before = new Map(cluster.members.map((member) => [member.name, cluster.pid(member)]));
      let changed = '';
      const cutAt = (journal: string): void => {
        const [first, leader] = orderOf(journal);
        changed = first;
        const way = direction === 'from it' ? ([first, leader] as const) : ([leader, first] as const);
        network.cutOneWay(...way, how);
      };
      // A silent cut also loses the end of a connection: the leader counts its connection to the previous process
      // as open for five seconds more.
      const cut = how === 'silent' ? atStopSignal(cutAt) : whenJournal(/"begin","step":"\w+\.start"/, cutAt);
      const ended = await kv(upgrade, cut);
      expect([ended.code, ended.stderr]).toEqual([expect.toBeOneOf([8, 12]), expect.any(String)]);
      const restarted = cluster.members.filter((member) => cluster.pid(member) !== before.get(member.name));
      expect(restarted.length).toBeLessThanOrEqual(1);
      // After an election, the cut is not between the leader and the first member. Then the run stops before the next one.
      if (!ended.stderr.includes('elected leader')) {
        expect(ended.stderr).toContain(`${changed} did not become healthy`);
        expect(restarted.every(({ name }) => name === changed)).toBe(true);
      }
    },
  );
});

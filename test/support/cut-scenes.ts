/** Scenes that cut the network of one member in the middle of an upgrade, in one of the two ways in which networks fail. */
import { consent } from './consent.ts';
import { readFileSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import {
  call,
  missingWrites,
  pair,
  pause,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
  type Writer,
} from './cluster.ts';
import { type Cut, cutNetwork, type CutNetwork } from './cut-network.ts';
import { opsctl, type Ran } from './program.ts';
import { whenJournal } from './when-journal.ts';
import { makeDirectory } from './directory.ts';
import { hangTimer } from './hang.ts';
import { slice } from './slice.ts';
import { errorOf } from './facts.ts';

const { from, to, prefix } = pair;
let network: CutNetwork;
let cluster: RealCluster;
let writer: Writer | undefined;
let home: string;
/** Some scenes wait for the end of a health check. The other members pass theirs within the same limit on a busy machine. */
const gateSeconds = 60;
/** Starts three members behind the network, and a constant writer. */
const start = async (): Promise<void> => {
  network = cutNetwork();
  cluster = await startCluster({
    size: 3,
    from,
    to,
    front: network.open,
    settings: { timeouts: { gate_seconds: gateSeconds } },
  });
  const statuses = await Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}${prefix}/maintenance/status`, {})).text)),
  );
  for (const [at, { header }] of statuses.entries())
    network.knows(BigInt(header.member_id).toString(16), cluster.members[at]?.name as string);
  writer = startWriter(cluster.urls, prefix);
};
type Role = 'first' | 'second' | 'leader';
/**
 * Returns the name of the member from the journal. The run changes the current leader last, and a busy machine may elect
 * another leader after the plan was made, so the order of the plan does not show which member is in work.
 */
const nameOf = (role: Role, journal: string): string => {
  const text = readFileSync(journal, 'utf8');
  const { order } = JSON.parse(text.split('\n')[0] as string).plan as { order: string[] };
  const inWork = /"begin","step":"(\w+)\.start"/.exec(text)?.[1];
  const waiting = order.filter((name) => name !== inWork);
  return { first: inWork, second: waiting[0], leader: waiting.at(-1) }[role] as string;
};

const kv = (verb: 'upgrade' | 'resume', host?: (host: Host) => Host): Promise<Ran> =>
  opsctl(['kv', verb, '--cluster', cluster.file, ...consent(verb), '-o', 'json'], {
    home,
    ...(host === undefined ? {} : { host }),
  });
const error = (ran: Ran): { code: string; message: string } => errorOf(ran);
/** Checks the processes continuously. The returned function reports the maximum number of members that were down at the same time. */
const watchProcesses = () => {
  let [isOver, most] = [false, 0];
  const work = (async () => {
    while (!isOver) {
      most = Math.max(most, cluster.members.filter((member) => !cluster.isAlive(member)).length);
      await pause(5);
    }
  })();
  return async (): Promise<number> => {
    isOver = true;
    await work;
    return most;
  };
};
const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(
      async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3) as string,
    ),
  );
const nothingIsLost = async (): Promise<void> => {
  const { acknowledged } = (await writer?.stop()) ?? { acknowledged: [] };
  writer = undefined;
  expect(acknowledged.length).toBeGreaterThan(10);
  for (const url of cluster.urls) expect(await missingWrites(url, acknowledged)).toEqual([]);
};

type Scene = {
  /** The journal line that triggers the cut, for example `begin` of the first member's start or gate. */
  readonly at: RegExp;
  readonly who: Role;
  readonly cut: Cut;
  /** Default: true. If false, the scene runs only in the longer half of the suite. */
  readonly isResumed?: boolean;
};
const firstStart = /"begin","step":"\w+\.start"/;
const firstGate = /"begin","step":"\w+\.gate"/;
/** Returns the sum of the terms that the members report: it rises with each election. */
const electionCount = async (): Promise<bigint> => {
  const replies = await Promise.all(
    cluster.urls.map((url) => call(`${url}${prefix}/maintenance/status`, {})),
  );
  return replies.reduce((sum, { text }) => sum + BigInt(JSON.parse(text).header.raft_term), 0n);
};
/** A resume has a grace period of 10 s for an election. A refusal without an election is repeated once. */
const mostUnexplained = 1;
/**
 * Resumes as an operator does. On a busy machine, elections continue after the network heals. A resume then finds an unhealthy
 * member and stops before it changes anything, so it is repeated. A refusal without an election during the resume has another
 * cause. Every other result is final.
 */
const resumeToEnd = async (): Promise<Ran> => {
  const unexplained: string[] = [];
  for (const isHung = hangTimer(); ; ) {
    await cluster.healthy();
    const [pids, count] = [cluster.members.map((member) => cluster.pid(member)), await electionCount()];
    const ran = await kv('resume');
    if (ran.code !== 8 || error(ran).code !== 'GUARD' || isHung()) return ran;
    expect(cluster.members.map((member) => cluster.pid(member))).toEqual(pids);
    await cluster.healthy();
    if ((await electionCount()) === count) unexplained.push(error(ran).message);
    expect(unexplained.length, unexplained.join('\n')).toBeLessThanOrEqual(mostUnexplained);
  }
};
/** Cuts a member in the middle of the upgrade, heals it when the run has ended, and resumes the run until it completes. */
const play = async (
  { at, who, cut, isResumed = true }: Scene,
  judge: (ran: Ran, victim: string, restarted: readonly string[]) => void,
): Promise<void> => {
  await start();
  let victim = 'nobody was cut';
  const before = cluster.members.map((member) => cluster.pid(member));
  const most = watchProcesses();
  const ran = await kv(
    'upgrade',
    whenJournal(at, (journal) => {
      victim = nameOf(who, journal);
      network.cut(victim, cut);
    }),
  );
  const restarted = cluster.members.filter((member, at) => cluster.pid(member) !== before[at]);
  judge(
    ran,
    victim,
    restarted.map(({ name }) => name),
  );
  expect(cluster.members.every((member: RealMember) => cluster.isAlive(member))).toBe(true);
  await network.heal(victim);
  await cluster.healthy();
  if (isResumed || isSoak) {
    const resumed = await resumeToEnd();
    expect(`${resumed.code} ${resumed.stderr}`).toMatch(/^0 /);
    expect(await versions()).toEqual([to, to, to]);
  }
  expect(await most()).toBeLessThanOrEqual(1);
  await nothingIsLost();
};

const isSoak = process.env.OPSCTL_SOAK === '1';
const both = ['client', 'peer'] as const;
const stopsAndNames = (ran: Ran, victim: string): void => {
  expect(`${ran.code} ${ran.stderr}`).toMatch(/^8 /);
  expect(error(ran).message).toContain(victim);
};

export const cutScenes = (how: Cut['how']): void => {
  type Told = readonly [kind: Cut['how'], title: string, test: () => Promise<void>];
  const scenes: Told[] = [];
  const scene = (...told: Told): void => void scenes.push(told);
  beforeEach(() => {
    home = makeDirectory('kv-home-');
  });
  afterEach(async () => {
    await writer?.stop();
    writer = undefined;
    await cluster?.stop();
    network?.close();
    rmSync(home, { recursive: true, force: true });
  });
  scene(
    'refused',
    'a member whose turn has not come: the one in work comes up, the run stops and names the other',
    async () => {
      await play({ at: firstStart, who: 'second', cut: { how, sides: both } }, (ran, victim) => {
        stopsAndNames(ran, victim);
        expect(error(ran).message).toContain('does not respond');
      });
    },
  );
  scene('silent', 'the leader: the others find a new one, the run stops and names it', async () => {
    await play({ at: firstGate, who: 'leader', cut: { how, sides: both } }, stopsAndNames);
  });
  scene(
    'silent',
    'the one that was just replaced, during its gate: it gets its old version back, now or with the resume',
    async () => {
      await play({ at: firstGate, who: 'first', cut: { how, sides: both } }, (ran, victim) => {
        expect([8, 12]).toContain(ran.code);
        expect(error(ran).message).toMatch(new RegExp(`^${victim} did not become healthy: `));
      });
    },
  );
  scene('refused', 'for a moment only: the run waits for it, and goes on', async () => {
    await start();
    const cutShort = (journal: string): void => {
      const second = nameOf('second', journal);
      network.cut(second, { how, sides: both });
      setTimeout(() => void network.heal(second), 1000);
    };
    const ran = await kv('upgrade', whenJournal(/"end","step":"\w+\.gate"/, cutShort));
    expect(`${ran.code} ${ran.stderr}`).toMatch(/^0 /);
    await nothingIsLost();
  });
  scene('refused', 'only its side of the clients, the peers are fine', async () => {
    await play(
      { at: firstStart, who: 'second', cut: { how, sides: ['client'] }, isResumed: false },
      stopsAndNames,
    );
  });
  scene('silent', 'only its side of the peers: it answers, is not touched, and nobody else is', async () => {
    await play(
      { at: firstStart, who: 'second', cut: { how, sides: ['peer'] }, isResumed: false },
      (ran, victim, restarted) => {
        stopsAndNames(ran, victim);
        // Either the health check of the first member or the check before the second member detects the missing connections.
        expect(restarted).toHaveLength(1);
        expect(restarted).not.toContain(victim);
      },
    );
  });
  // All scenes with both kinds of cut take minutes. The short suite runs each scene with one kind, and two of the three of each kind.
  const own = scenes.filter(([kind]) => isSoak || kind === how);
  for (const [, title, test] of slice(own, 2)) it(title, test);
};

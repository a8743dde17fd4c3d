import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Configuration, Entry, HardState, Message } from '../../../src/etcd-sim/raft/progress.ts';
import { Raft } from '../../../src/etcd-sim/raft/raft.ts';
import { testSeed } from '../../support/seeded.ts';

type Stored = { hard?: HardState; entries: Entry<string>[] };
/** Members on a network that loses messages, disconnects members and restarts them. Time advances only in `run`. */
class Net {
  readonly ids: string[];
  /** The configuration of members that start from now on. */
  configuration: Configuration;
  readonly rafts = new Map<string, Raft<string>>();
  readonly stored = new Map<string, Stored>();
  readonly applied = new Map<string, string[]>();
  readonly reads: { id: number; index: number }[] = [];
  readonly down = new Set<string>();
  readonly cut = new Set<string>();
  /** Maps each term to its leader. */
  readonly leaders = new Map<number, string>();
  now = 0;
  #random: number;
  constructor(size: number, seed = 1) {
    this.#random = seed * 7919 + 13;
    this.ids = Array.from({ length: size }, (_, i) => `m${i}`);
    this.configuration = { voters: this.ids, learners: [] };
    for (const id of this.ids) {
      this.stored.set(id, { entries: [] });
      this.start(id);
    }
  }
  #next(): number {
    this.#random = (this.#random * 1103515245 + 12345) % 2147483648;
    return this.#random / 2147483648;
  }
  start(id: string): void {
    this.down.delete(id);
    this.applied.set(id, []);
    const stored = this.stored.get(id) as Stored;
    const configuration = this.configuration;
    const options = { id, configuration, heartbeatMs: 10, electionMs: 100, jitter: () => this.#next() };
    this.rafts.set(
      id,
      new Raft<string>(options, { hard: stored.hard, entries: [...stored.entries] }, this.now),
    );
  }
  kill(id: string): void {
    this.down.add(id);
    this.rafts.delete(id);
  }
  raft(id: string): Raft<string> {
    return this.rafts.get(id) as Raft<string>;
  }
  #reaches(from: string, to: string): boolean {
    return !this.down.has(from) && !this.down.has(to) && !this.cut.has(from) && !this.cut.has(to);
  }
  #drain(id: string): Message<string>[] {
    const raft = this.raft(id);
    const ready = raft.take();
    const stored = this.stored.get(id) as Stored;
    if (ready.hard) stored.hard = ready.hard;
    if (ready.cutAfter !== undefined) stored.entries.length = ready.cutAfter;
    stored.entries.push(...ready.entries);
    for (const entry of ready.committed) if (entry.data !== undefined) this.applied.get(id)?.push(entry.data);
    this.reads.push(...ready.reads);
    if (raft.isLeading) {
      // A term never has two leaders.
      expect(this.leaders.get(raft.term) ?? id).toBe(id);
      this.leaders.set(raft.term, id);
    }
    const appends = this.ids.flatMap((other) => raft.appendFor(other) ?? []);
    return [...ready.messages, ...appends];
  }
  /** Advances the time. Messages arrive immediately unless they are lost. */
  run(ms: number, lost = 0): void {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += 5;
      for (const id of this.rafts.keys()) this.raft(id).tick(this.now);
      let waiting = [...this.rafts.keys()].flatMap((id) => this.#drain(id));
      for (let turn = 0; waiting.length > 0 && turn < 200; turn += 1) {
        for (const message of waiting) {
          if (this.#reaches(message.from, message.to) && this.#next() >= lost)
            this.raft(message.to).receive(message, this.now);
          else if (message.type === 'append') this.rafts.get(message.from)?.noteSilence(message.to);
        }
        waiting = [...this.rafts.keys()].flatMap((id) => this.#drain(id));
      }
    }
  }
  leader(): string | undefined {
    return [...this.rafts]
      .filter(([id, raft]) => raft.isLeading && !this.cut.has(id))
      .sort(([, a], [, b]) => b.term - a.term)[0]?.[0];
  }
  /** The applied values of all members are the same log, which some members have applied only partly. */
  agree(): void {
    const logs = [...this.applied.values()].sort((a, b) => b.length - a.length);
    for (const log of logs) expect(log).toEqual(logs[0]?.slice(0, log.length));
  }
}

describe('progress within one term', () => {
  it.each([1, 2, 3, 5])('%i members choose one leader before an election time has passed', (size) => {
    const net = new Net(size);
    net.run(100);
    expect(net.leader()).toBeDefined();
    expect(new Set([...net.rafts.values()].map((raft) => raft.leader)).size).toBe(1);
  });
  it('a proposal is applied by all', () => {
    const net = new Net(3);
    net.run(100);
    expect(net.raft(net.leader() as string).propose('x')).toBe(2);
    net.run(20);
    expect([...net.applied.values()]).toEqual([['x'], ['x'], ['x']]);
  });
  it('only the leader accepts proposals', () => {
    const net = new Net(3);
    net.run(100);
    const follower = net.ids.find((id) => id !== net.leader()) as string;
    expect(net.raft(follower).propose('x')).toBeUndefined();
    expect(net.raft(follower).read(1)).toBe(false);
  });
});

describe('failures', () => {
  it('without a majority no entry is applied, and the leader steps down', () => {
    const net = new Net(3);
    net.run(100);
    const leader = net.leader() as string;
    for (const id of net.ids) if (id !== leader) net.kill(id);
    net.raft(leader).propose('lost');
    net.run(300);
    expect(net.raft(leader).isLeading).toBe(false);
    expect(net.applied.get(leader)).toEqual([]);
  });
  it('a partitioned leader learns the new term, and its own entry is replaced', () => {
    const net = new Net(3);
    net.run(100);
    const old = net.leader() as string;
    net.cut.add(old);
    net.raft(old).propose('never agreed');
    net.run(500);
    const next = net.leader() as string;
    expect(next).not.toBe(old);
    net.raft(next).propose('agreed');
    net.run(50);
    net.cut.clear();
    net.run(300);
    expect([...net.applied.values()]).toEqual([['agreed'], ['agreed'], ['agreed']]);
    expect(net.stored.get(old)?.entries.map((entry) => entry.data)).not.toContain('never agreed');
  });
  it('a member that comes back from a cut does not unseat the leader', () => {
    const net = new Net(3);
    net.run(100);
    const leader = net.leader() as string;
    const follower = net.ids.find((id) => id !== leader) as string;
    net.cut.add(follower);
    net.run(1000);
    const term = net.raft(leader).term;
    net.cut.clear();
    net.run(300);
    expect([net.leader(), net.raft(leader).term]).toEqual([leader, term]);
  });
  it('a read waits for a majority that still follows', () => {
    const net = new Net(3);
    net.run(100);
    const leader = net.leader() as string;
    expect(net.raft(leader).read(7)).toBe(true);
    net.run(20);
    expect(net.reads).toEqual([{ id: 7, index: 1 }]);
    net.cut.add(leader);
    net.raft(leader).read(8);
    net.run(300);
    expect(net.reads).toHaveLength(1);
  });
  it('a leader transfers to the named member, and gives up if the target is missing', () => {
    const net = new Net(3);
    net.run(100);
    const [leader, target] = [net.leader() as string, net.ids.find((id) => id !== net.leader()) as string];
    expect(net.raft(leader).handOver(target, net.now)).toBe(true);
    expect(net.raft(leader).propose('while handing over')).toBeUndefined();
    net.run(30);
    expect(net.leader()).toBe(target);
    net.kill(leader);
    net.raft(target).handOver(leader, net.now);
    net.run(150);
    expect(net.raft(target).propose('goes on')).toBeDefined();
  });
  it('a member that starts again has its log and its vote', () => {
    const net = new Net(1);
    net.run(100);
    net.raft('m0').propose('a');
    net.run(10);
    net.kill('m0');
    net.start('m0');
    net.run(100);
    expect(net.applied.get('m0')).toEqual(['a']);
    expect(net.raft('m0').term).toBe(2);
  });
});

describe('any order of failures', () => {
  const step = fc.record({
    what: fc.constantFrom('propose', 'kill', 'start', 'cut', 'join', 'wait', 'hand-over'),
    who: fc.nat(4),
    ms: fc.integer({ min: 5, max: 400 }),
  });
  it('any failures: at most one leader per term, one history, no acknowledged data lost', {
    timeout: 900_000,
  }, () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.constantFrom(3, 5),
        fc.nat(1000),
        fc.constantFrom(0, 0.1),
        (steps, size, seed, lost) => {
          const net = new Net(size, seed);
          const acknowledged: string[] = [];
          for (const [n, { what, who, ms }] of steps.entries()) {
            const id = net.ids[who % size] as string;
            if (what === 'kill' && net.down.size < Math.floor(size / 2)) net.kill(id);
            if (what === 'start' && net.down.has(id)) net.start(id);
            if (what === 'cut') net.cut.add(id);
            if (what === 'join') net.cut.delete(id);
            if (what === 'hand-over' && !net.down.has(id))
              net.raft(id).handOver(net.ids[(who + 1) % size] as string, net.now);
            const leader = net.leader();
            if (what === 'propose' && leader !== undefined) net.raft(leader).propose(`v${n}`);
            net.run(ms, lost);
            if (what === 'propose' && leader !== undefined && net.applied.get(leader)?.includes(`v${n}`))
              acknowledged.push(`v${n}`);
            net.agree();
          }
          net.cut.clear();
          for (const id of [...net.down]) net.start(id);
          net.run(2000);
          net.agree();
          expect(net.leader()).toBeDefined();
          for (const log of net.applied.values()) expect(log).toEqual(expect.arrayContaining(acknowledged));
        },
      ),
      {
        numRuns: process.env.OPSCTL_SOAK === '1' ? 5000 : 60,
        seed: testSeed,
      },
    );
  });
});

describe('members come and go', () => {
  /** Applies the configuration change to every member, as each member does after it has applied the entry. */
  const change = (net: Net, voters: readonly string[], learners: readonly string[] = []): void => {
    net.configuration = { voters, learners };
    for (const raft of net.rafts.values()) raft.reconfigure(net.configuration, net.now);
  };
  const join = (net: Net, id: string): void => {
    net.ids.push(id);
    net.stored.set(id, { entries: [] });
    net.start(id);
  };
  const grown = (): { net: Net; first: string[]; leader: string } => {
    const net = new Net(3);
    const first = [...net.ids];
    net.run(100);
    const leader = net.leader() as string;
    for (let i = 0; i < 30; i += 1) net.raft(leader).propose(`v${i}`);
    net.run(50);
    return { net, first, leader };
  };

  it('a learner gets the whole log without a vote', () => {
    const { net, first, leader } = grown();
    change(net, first, ['m3']);
    expect(net.raft(leader).isInSync('m3')).toBe(false);
    join(net, 'm3');
    net.run(100);
    expect(net.applied.get('m3')).toHaveLength(30);
    expect(net.raft(leader).isInSync('m3')).toBe(true);
    expect(net.raft(leader).isInSync('m9')).toBeUndefined();
    // Two of three voters are down. The learner and the third voter are not a majority, and the learner never becomes the leader.
    for (const id of first.filter((one) => one !== leader)) net.kill(id);
    net.raft(leader).propose('lost');
    net.run(1000);
    expect(net.applied.get('m3')).toHaveLength(30);
    expect(net.raft('m3').role).toBe('follower');
    expect(net.leader()).toBeUndefined();
  });
  it('the leadership is not handed to a learner', () => {
    const { net, first, leader } = grown();
    change(net, first, ['m3']);
    join(net, 'm3');
    net.run(100);
    expect(net.raft(leader).handOver('m3', net.now)).toBe(false);
    expect(net.raft(leader).successor(net.now)).not.toBe('m3');
  });
  it('a promoted member counts, and a voter that has not started costs the majority of two', () => {
    const net = new Net(1);
    net.run(100);
    change(net, ['m0', 'm1']);
    net.raft('m0').propose('waits');
    net.run(100);
    expect(net.applied.get('m0')).toEqual([]);
    join(net, 'm1');
    net.run(500);
    expect(net.applied.get('m0')).toEqual(['waits']);
    expect(net.applied.get('m1')).toEqual(['waits']);
  });
  it('entries that waited for a removed follower are committed immediately', () => {
    const { net, first, leader } = grown();
    const others = first.filter((id) => id !== leader);
    for (const id of others) net.cut.add(id);
    net.raft(leader).propose('waits');
    net.run(20);
    expect(net.applied.get(leader)).toHaveLength(30);
    change(net, [leader]);
    net.run(20);
    expect(net.applied.get(leader)).toHaveLength(31);
  });
  it('a removed leader hands over and does not come back', () => {
    const { net, first, leader } = grown();
    const others = first.filter((id) => id !== leader);
    change(net, others);
    expect(net.raft(leader).propose('after')).toBe(32);
    net.run(20);
    for (const id of others) expect(net.applied.get(id)).toHaveLength(31);
    expect(net.raft(leader).handOver(net.raft(leader).successor(net.now) as string, net.now)).toBe(true);
    net.run(300);
    expect(others).toContain(net.leader());
    expect(net.raft(leader).role).toBe('follower');
  });
});

describe('an unresponsive member', () => {
  /** A leader of three members. The third member has not responded. */
  const leading = () => {
    const group = new Net(3);
    group.run(3000);
    const id = group.leader() as string;
    const [away] = group.ids.filter((one) => one !== id) as [string];
    return { group, id, raft: group.raft(id), away };
  };
  it('an unresponsive member gets heartbeats without the log until it responds, then the missing entries', () => {
    const { group, id, raft, away } = leading();
    for (let i = 0; i < 3; i += 1) raft.propose(`value ${i}`);
    expect(raft.appendFor(away)).toMatchObject({ type: 'append', entries: { length: 3 } });
    raft.noteSilence(away);
    raft.propose('value 3');
    expect(raft.appendFor(away)).toBeUndefined();
    group.now += 50;
    raft.tick(group.now);
    const beat = raft.appendFor(away);
    expect(beat).toMatchObject({ type: 'append', entries: [] });
    const answer = { type: 'appended', ok: true, from: away, to: id, term: raft.term } as const;
    raft.receive({ ...answer, match: beat?.type === 'append' ? beat.prevIndex : 0, round: 0 }, group.now);
    expect(raft.appendFor(away)).toMatchObject({ entries: { length: 4 } });
  });
});

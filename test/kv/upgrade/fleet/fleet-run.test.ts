import type { Processes } from '../../../../src/platform/host.ts';
import { describe, expect, it } from 'vitest';
import {
  upgradeFleet,
  type FleetInput,
  fleetRow,
  planFleet,
  upgradeCluster,
} from '../../../../src/kv/upgrade/fleet/fleet-run.ts';
import { fleetDirectory, openFleetJournal } from '../../../../src/kv/upgrade/fleet/fleet-file.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';

type Answer = Partial<Finished> | undefined;
const report = (outcome: string) => JSON.stringify({ run: 'r', outcome, message: outcome, members: [] });
const complaint = (code: string, data?: object) =>
  JSON.stringify({ error: 'stopped', code, message: `it says ${code}`, data });
/** Child processes of opsctl: `answer` receives `kv upgrade a --dry-run` as `upgrade a --dry-run`. */
const children = (answer: (words: string) => Answer) => {
  const asked: string[] = [];
  const host = fakeHost({
    run: ({ args }) => {
      expect(args.slice(-2)).toEqual(['-o', 'json']);
      const [verb, cluster] = [args[2], args[args.indexOf('--cluster') + 1]];
      const flags = args.filter((word) => /^--(?!cluster|yes)/.test(word));
      const words = [verb, cluster, ...flags].join(' ');
      asked.push(words);
      return answer(words) ?? { stdout: report('done') };
    },
  });
  return { host, asked };
};
const conducted = async (
  { host }: Pick<ReturnType<typeof children>, 'host'>,
  patch: Partial<FleetInput> = {},
) => {
  const told: string[] = [];
  const rows: string[] = [];
  const input: FleetInput = {
    ...{ host, file: '/fleet.yaml', state: '/state', lastMember: ['--hold-last'] },
    fleet: { name: 'f', canary: 'b', atOnce: 1, clusters: ['a', 'b'] },
    signal: new AbortController().signal,
    line: ['kv', 'fleet', 'fleet.yaml', '--hold-last'],
    info: (text) => told.push(text),
    label: (cluster) => cluster.toUpperCase(),
    confirm: async () => void told.push('asked'),
    ...patch,
  };
  const messages: string[] = [];
  for await (const row of upgradeFleet(input)) {
    rows.push(`${row.cluster} ${row.outcome}`);
    messages.push(fleetRow(row, row.cluster).message);
  }
  return { told, rows, messages };
};
const kinds = (host: ReturnType<typeof fakeHost>): string[] =>
  Object.entries(host.files.all())
    .filter(([path]) => path.endsWith('journal.jsonl'))
    .flatMap(([, text]) => text.split('\n').filter((line) => line !== ''))
    .map((line) => {
      const { kind, cluster = '', outcome = '' } = JSON.parse(line);
      return `${kind} ${cluster} ${outcome}`.trim();
    });

describe('a fleet', () => {
  it('a fleet is checked as a whole, confirmed, and upgraded with its canary first', async () => {
    const some = children(() => undefined);
    const { told, rows } = await conducted(some);
    expect(some.asked).toEqual([
      ...['upgrade a --dry-run', 'upgrade b --dry-run', 'upgrade b --hold-last', 'upgrade a --hold-last'],
    ]);
    expect(told).toEqual(['asked', 'B: starts', 'B: done', 'A: starts', 'A: done']);
    expect(rows).toEqual(['b done', 'a done']);
    expect(kinds(some.host)).toEqual([
      'opened',
      'began b',
      'ended b done',
      'began a',
      'ended a done',
      'closed',
    ]);
    expect(Object.keys(some.host.files.all()).filter((path) => path.endsWith('/lock'))).toEqual([]);
  });

  it('flags of the plans reach the check and the upgrade of every cluster, and no resumed run', async () => {
    const planFlags = ['--copy-data', '--accept', 'snapshot-space'];
    const some = children((words) =>
      words.startsWith('resume') ? { code: 6, stderr: complaint('NO_RUN') } : undefined,
    );
    await conducted(some, { planFlags });
    const flags = '--copy-data --accept';
    expect(some.asked).toEqual([
      ...[`upgrade a --dry-run ${flags}`, `upgrade b --dry-run ${flags}`],
      ...[`upgrade b --hold-last ${flags}`, `upgrade a --hold-last ${flags}`],
    ]);
    await upgradeCluster(some.host, 'a', { lastMember: ['--hold-last'], planFlags, wasBegun: true });
    expect(some.asked.slice(4)).toEqual(['resume a --hold-last', `upgrade a --hold-last ${flags}`]);
  });

  it('a fleet is not changed while one of its clusters is not ready', async () => {
    const some = children((words) =>
      words === 'upgrade b --dry-run' ? { code: 8, stderr: complaint('GUARD') } : undefined,
    );
    await expect(conducted(some)).rejects.toMatchObject({
      category: 'unsafe',
      message: naming('changes', 'made', '1 of 2', 'not ready'),
      detail: { problems: [{ message: 'b: it says GUARD' }] },
    });
    expect(some.asked).toEqual(['upgrade a --dry-run', 'upgrade b --dry-run']);
    expect(kinds(some.host)).toEqual([]);
    // The lock is free again.
    await expect(conducted(some)).rejects.toThrow('not ready');
  });

  it('a fleet stops at the first failed cluster; a held cluster counts as completed', async () => {
    const failing = children((words) =>
      words === 'upgrade b --hold-last' ? { code: 6, stderr: `noise\n${complaint('GUARD')}` } : undefined,
    );
    expect((await conducted(failing)).rows).toEqual(['b failed', 'a not started']);
    expect(kinds(failing.host).slice(1)).toEqual(['began b', 'ended b failed', 'closed']);
    const holding = children((words) =>
      words === 'upgrade b --hold-last' ? { code: 6, stdout: report('held') } : undefined,
    );
    expect((await conducted(holding)).rows).toEqual(['b done', 'a done']);
  });

  it('a fleet that is asked to stop starts no new cluster', async () => {
    const controller = new AbortController();
    const some = children((words) => {
      if (words === 'upgrade b --hold-last') controller.abort();
      return undefined;
    });
    expect((await conducted(some, { signal: controller.signal })).rows).toEqual(['b done', 'a not started']);
  });

  it('a killed fleet continues: started clusters are resumed without another check', async () => {
    const dead = children(() => undefined);
    const dies = (): Promise<never> => Promise.reject(new Error('killed'));
    const processes: Processes = {
      ...dead.host.processes,
      run: (command, args, options = {}) =>
        args.includes('--hold-last') ? dies() : dead.host.processes.run(command, args, options),
    };
    await expect(conducted({ host: { ...dead.host, processes } })).rejects.toThrow('killed');
    dead.asked.length = 0;
    const { told, rows } = await conducted(dead);
    expect(told[0]).toEqual(naming('interrupted', 'f:', '0 of 2', 'unfinished: B'));
    expect(told[2]).toBe('B: continues');
    expect(dead.asked).toEqual(['upgrade a --dry-run', 'resume b --hold-last', 'upgrade a --hold-last']);
    expect(rows).toEqual(['b done', 'a done']);
    expect(kinds(dead.host).filter((kind) => kind === 'opened')).toHaveLength(1);
  });

  const planned = (digests: Readonly<Record<string, string>>) =>
    children((words) => {
      const [verb, cluster = ''] = words.split(' ');
      if (verb !== 'upgrade' || !words.includes('--dry-run')) return undefined;
      const plan = { from: '3.2', to: '3.3', order: ['n1'], digest: digests[cluster] };
      return { stdout: JSON.stringify(digests[cluster] === undefined ? { message: 'done' } : plan) };
    });
  const planOf = (
    { host }: ReturnType<typeof children>,
    atOnce = 1,
    patch: Partial<Parameters<typeof planFleet>[0]> = {},
  ) =>
    planFleet({
      ...{ host, lastMember: ['--hold-last'], label: (cluster) => cluster.toUpperCase() },
      ...{ signal: new AbortController().signal, line: ['kv', 'fleet', 'fleet.yaml', '--hold-last'] },
      ...patch,
      fleet: { name: 'f', canary: 'b', atOnce, clusters: ['a', 'b'] },
    });

  it('the plan of a fleet has one digest over the plans of all clusters, its order and its flags', async () => {
    const plan = await planOf(planned({ a: '1', b: '2' }));
    expect(plan).toMatchObject({ fleet: 'f', canary: 'B', at_once: 1, flags: ['--hold-last'] });
    expect(plan.clusters).toEqual([
      { cluster: 'B', from: '3.2', to: '3.3', order: ['n1'], digest: '2' },
      { cluster: 'A', from: '3.2', to: '3.3', order: ['n1'], digest: '1' },
    ]);
    const digests = await Promise.all([
      planOf(planned({ a: '1', b: '2' })),
      planOf(planned({ a: '1', b: '3' })),
      planOf(planned({ b: '2' })),
      planOf(planned({ a: '1', b: '2' }), 2),
    ]);
    expect(digests[0]?.digest).toBe(plan.digest);
    expect(new Set(digests.map(({ digest }) => digest)).size).toBe(4);
  });

  it('a fleet with --digest runs only the reviewed plan', async () => {
    const { digest } = await planOf(planned({ a: '1', b: '2' }));
    const changed = planned({ a: '1', b: '3' });
    await expect(conducted(changed, { digest })).rejects.toMatchObject({
      category: 'unsafe',
      detail: { code: 'PLAN_OUTDATED', data: { given: digest } },
    });
    expect(changed.asked).toEqual(['upgrade a --dry-run', 'upgrade b --dry-run']);
    expect((await conducted(planned({ a: '1', b: '2' }), { digest })).rows).toEqual(['b done', 'a done']);
  });

  /** A run that was killed while its canary b was upgraded; its clusters have these digests now. */
  const killed = async (digest: string, now: Record<string, string>) => {
    const digests: Record<string, string> = { a: '1', b: '2' };
    const begun = planned(digests);
    const processes: Processes = {
      ...begun.host.processes,
      run: (command, args, options = {}) =>
        args.includes('--hold-last')
          ? Promise.reject(new Error('killed'))
          : begun.host.processes.run(command, args, options),
    };
    await expect(conducted({ host: { ...begun.host, processes } }, { digest })).rejects.toThrow('killed');
    Object.assign(digests, now);
    begun.asked.length = 0;
    return begun;
  };

  it.each([undefined, '0'])(
    'a fleet run that continues requires the digest of its start, not %s',
    async (given) => {
      const { digest } = await planOf(planned({ a: '1', b: '2' }));
      const begun = await killed(digest, {});
      await expect(conducted(begun, { digest: given })).rejects.toMatchObject({
        detail: { code: 'PLAN_OUTDATED', data: { given: given ?? null, now: digest } },
      });
      expect((await conducted(begun, { digest })).rows).toEqual(['b done', 'a done']);
    },
  );

  it('a fleet run that continues keeps the reviewed plan of a cluster that it started', async () => {
    const { digest } = await planOf(planned({ a: '1', b: '2' }));
    const begun = await killed(digest, { b: '9' });
    expect((await conducted(begun, { digest })).rows).toEqual(['b done', 'a done']);
  });

  it.each([
    ['a cluster that has not started', { a: '3' }, {}],
    ['the flags', {}, { lastMember: ['--accept-point-of-no-return'] }],
    ['the parallel limit', {}, { fleet: { name: 'f', canary: 'b', atOnce: 2, clusters: ['a', 'b'] } }],
    ['the list', {}, { fleet: { name: 'f', canary: 'b', atOnce: 1, clusters: ['a', 'b', 'c'] } }],
  ])('a fleet run that continues refuses a change of %s', async (_, now, patch) => {
    const { digest } = await planOf(planned({ a: '1', b: '2' }));
    const begun = await killed(digest, now as Record<string, string>);
    await expect(conducted(begun, { digest, ...patch })).rejects.toMatchObject({
      detail: { code: 'PLAN_OUTDATED', data: { given: digest } },
    });
    expect(begun.asked.filter((words) => !words.includes('--dry-run'))).toEqual([]);
  });

  it('a cluster whose plan changes while the canary is upgraded does not start', async () => {
    const digests: Record<string, string> = { a: '1', b: '2' };
    const { digest } = await planOf(planned(digests));
    const some = children((words) => {
      const [, cluster = ''] = words.split(' ');
      if (words === 'upgrade b --hold-last') digests['a'] = '7';
      if (!words.includes('--dry-run')) return undefined;
      return { stdout: JSON.stringify({ from: '3.2', to: '3.3', order: ['n1'], digest: digests[cluster] }) };
    });
    const { rows, told, messages } = await conducted(some, { digest });
    expect(rows).toEqual(['b done', 'a failed']);
    // The row contains the message, and the progress does not repeat it.
    expect(messages.at(-1)).toContain('7 instead of 1');
    expect(told.at(-1)).toBe('A: failed');
    expect(some.asked).not.toContain('upgrade a --hold-last');
  });

  it('the dry run of a fleet refuses another digest, stops at a signal and reads no other answer as a plan', async () => {
    const some = planned({ a: '1', b: '2' });
    await expect(planOf(some, 1, { digest: '0' })).rejects.toMatchObject({
      detail: {
        code: 'PLAN_OUTDATED',
        tryThis: [{ command: ['kv', 'fleet', 'fleet.yaml', '--hold-last', '--dry-run'] }],
      },
    });
    const controller = new AbortController();
    const stopped = children(() => {
      controller.abort(new Error('stopped'));
      return { stdout: '{}' };
    });
    await expect(planOf(stopped, 1, { signal: controller.signal })).rejects.toThrow('stopped');
    await expect(planOf(children(() => ({ stdout: 'hello\n' })))).rejects.toMatchObject({
      detail: { code: 'FLEET_NOT_READY' },
    });
  });

  it('a fleet runs once at a time', async () => {
    const some = children(() => undefined);
    let second: Promise<unknown> | undefined;
    await conducted(some, {
      confirm: async () => {
        second = conducted(some).catch((error: unknown) => error);
        await second;
      },
    });
    expect(await second).toMatchObject({ detail: { code: 'LOCKED' } });
  });
});

describe('one cluster of a fleet', () => {
  const upgraded = async (
    wasBegun: boolean,
    answer: (words: string) => Answer,
    lastMember: readonly string[] = [],
  ) => {
    const some = children(answer);
    const { ok, detail } = await upgradeCluster(some.host, 'a', { lastMember, wasBegun });
    return { ok, detail, asked: some.asked, slept: some.host.slept };
  };

  it('a cluster has the report of its run, or the message of its error', async () => {
    expect((await upgraded(false, () => undefined)).detail).toEqual({
      ...{ exit_code: 0, message: 'done' },
      report: { run: 'r', outcome: 'done', message: 'done', members: [] },
    });
    const plain = await upgraded(false, () => ({ code: 1, stderr: 'first\nlast words\n' }));
    expect(plain).toMatchObject({ ok: false, detail: { exit_code: 1, message: 'last words' } });
    expect(plain.detail).not.toHaveProperty('report');
  });

  /** An earlier run is held. `resumed`: the end of its resume. */
  const heldRun = (held_by: string, resumed?: Answer) => (words: string) =>
    words.startsWith('upgrade')
      ? { code: 10, stderr: complaint('HELD_RUN', { run: 'r', held_by }) }
      : resumed;
  const outcomeOf = async (answer: (words: string) => Answer, flag: string) => {
    const { ok, detail, asked } = await upgraded(false, answer, [flag]);
    const outcome = ok ? ('done' as const) : ('failed' as const);
    return { ok, asked, outcome: fleetRow({ cluster: 'a', outcome, detail }, 'a').outcome };
  };
  const accepting = '--accept-point-of-no-return';
  it('resumes a run that --hold-last holds', async () => {
    expect(await outcomeOf(heldRun('hold-last'), accepting)).toEqual({
      ...{ ok: true, outcome: 'done', asked: [`upgrade a ${accepting}`, `resume a ${accepting}`] },
    });
  });
  it('a repeated run with --hold-last reports the cluster as held', async () => {
    const again = { code: 8, stderr: complaint('HELD') };
    expect(await outcomeOf(heldRun('hold-last', again), '--hold-last')).toEqual({
      ...{ ok: true, outcome: 'held', asked: ['upgrade a --hold-last', 'resume a --hold-last'] },
    });
    // A killed run of the fleet had started the cluster.
    expect(await upgraded(true, () => again, ['--hold-last'])).toMatchObject({
      ...{ ok: true, asked: ['resume a --hold-last'], detail: { isHeld: true } },
    });
  });
  it.each(['hold-after', 'operator', 'last-member'])(
    'does not resume a run that %s holds',
    async (holder) => {
      for (const flag of ['--hold-last', accepting])
        expect(await outcomeOf(heldRun(holder), flag)).toEqual({
          ...{ ok: false, outcome: 'failed', asked: [`upgrade a ${flag}`] },
        });
    },
  );
  it('a hold is a failure if the whole upgrade was requested', async () => {
    const held = () => ({ code: 8, stdout: report('held') });
    expect(await outcomeOf(held, accepting)).toMatchObject({ ok: false, outcome: 'held' });
    expect(await outcomeOf(held, '--hold-last')).toMatchObject({ ok: true, outcome: 'held' });
  });

  it('a cluster without an unfinished run is upgraded', async () => {
    const none = await upgraded(true, (words) =>
      words.startsWith('resume') ? { code: 5, stderr: complaint('NO_RUN') } : undefined,
    );
    expect(none.asked).toEqual(['resume a', 'upgrade a']);
    const over = await upgraded(true, (words) =>
      words.startsWith('resume') ? { stdout: '{"message":"nothing to resume"}' } : undefined,
    );
    expect(over.asked).toEqual(['resume a', 'upgrade a']);
    const failed = await upgraded(true, () => ({ code: 6, stderr: complaint('GUARD') }));
    expect([failed.asked, failed.ok]).toEqual([['resume a'], false]);
  });

  it('a cluster whose child process is still working is awaited', async () => {
    let looks = 0;
    const waited = await upgraded(true, () => {
      looks += 1;
      return looks < 3 ? { code: 8, stderr: complaint('LOCKED') } : undefined;
    });
    expect(waited).toMatchObject({ ok: true, slept: [2000, 2000] });
    // A child that reports the lock after ten minutes is started six times.
    const slow = children(() => {
      slow.host.advance(600_000);
      return { code: 8, stderr: complaint('LOCKED') };
    });
    const never = await upgradeCluster(slow.host, 'a', { lastMember: [], wasBegun: true });
    expect([never.ok, slow.asked.length]).toEqual([false, 6]);
  });

  it('a cluster is one row, even if it was not started', () => {
    const report = { outcome: 'held', duration_ms: 7 } as never;
    const detail = { exit_code: 6, message: 'held', report, isHeld: true as const };
    expect(fleetRow({ cluster: '/a.yaml', outcome: 'done', detail }, 'a')).toEqual({
      ...{ cluster: 'a', file: '/a.yaml', outcome: 'held', message: 'held', duration_ms: 7, exit_code: 6 },
      report: { outcome: 'held', duration_ms: 7 },
    });
    expect(fleetRow({ cluster: '/a.yaml', outcome: 'not started' }, 'a')).toMatchObject({
      ...{ outcome: 'not started', duration_ms: null, exit_code: null, report: null },
      message: naming('not started', 'earlier cluster', 'failed'),
    });
    expect(
      fleetRow({ cluster: 'a', outcome: 'failed', detail: { exit_code: 1, message: 'no' } }, 'a'),
    ).toMatchObject({ outcome: 'failed', message: 'no', report: null });
  });
});

describe('files of a fleet on this machine', () => {
  it('the state of a fleet is private, and its journal is closed', async () => {
    const some = children(() => undefined);
    const closed: string[] = [];
    const append: typeof some.host.files.append = (path, mode) => {
      const file = some.host.files.append(path, mode);
      return { ...file, close: () => (closed.push(path), file.close()) };
    };
    await conducted({ host: { ...some.host, files: { ...some.host.files, append } } as typeof some.host });
    const [path] = Object.keys(some.host.files.all()).filter((one) => one.endsWith('/journal.jsonl'));
    expect(closed).toEqual([path]);
    expect(some.host.files.mode(path as string)).toBe(0o600);
    const directory = (path as string).replace(/\/journal\.jsonl$/, '');
    expect((await some.host.files.info(directory))?.mode).toBe(0o700);
  });

  it('the journal is closed even if the run fails', async () => {
    const some = children(() => undefined);
    const closed: string[] = [];
    const append: typeof some.host.files.append = (path, mode) => {
      const file = some.host.files.append(path, mode);
      return { ...file, close: () => (closed.push(path), file.close()) };
    };
    const host = { ...some.host, files: { ...some.host.files, append } } as typeof some.host;
    const confirm = () => Promise.reject(new Error('no'));
    await expect(conducted({ host }, { confirm })).rejects.toThrow('no');
    expect(closed).toHaveLength(1);
  });

  it('four clusters are checked in parallel, every one of them once', async () => {
    let [now, most] = [0, 0];
    const some = children(() => undefined);
    const run: typeof some.host.processes.run = async (...given) => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      return some.host.processes.run(...given);
    };
    const clusters = Array.from({ length: 8 }, (_, i) => `c${i}`);
    const host = { ...some.host, processes: { ...some.host.processes, run } };
    const fleet = { name: 'f', canary: 'c0', atOnce: 1, clusters };
    await conducted({ host: host as typeof some.host }, { fleet });
    expect(most).toBe(4);
    expect(some.asked.filter((words) => words.endsWith('--dry-run'))).toHaveLength(8);
  });

  it('several that are not ready are counted', async () => {
    const some = children(() => ({ code: 8, stderr: complaint('GUARD') }));
    await expect(conducted(some)).rejects.toThrow('2 of 2 clusters are not ready');
  });

  it('an interrupted fleet reports the completed clusters, and omits missing data', async () => {
    const some = children(() => undefined);
    const first = await openFleetJournal(some.host, fleetDirectory('/state', '/fleet.yaml', 'f'));
    first.write({ kind: 'opened', fleet: 'f', clusters: ['a', 'b'] });
    first.write({ kind: 'began', cluster: 'b' });
    first.write({ kind: 'ended', cluster: 'b', outcome: 'done', message: 'm' });
    first.close();
    expect((await conducted(some)).told[0]).toEqual(naming('interrupted', 'f:', '1 of 2'));
  });
});

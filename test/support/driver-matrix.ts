/**
 * Every driver in every scenario, on real servers and real service managers. Each cell is a test.
 * A run includes a third of the cells in `quick`; with OPSCTL_SOAK=1, it includes all cells.
 * In a soak with OPSCTL_KV_36, the versions are 3.4, 3.5 (a late patch) and 3.6.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { call, hasBinaries, pause } from './cluster.ts';
import {
  type Bed,
  type BedKind,
  type BedOptions,
  collected,
  type Ended,
  type Place,
  startBed,
} from './driver-beds.ts';
import { covers } from './covers.ts';
import { slice } from './slice.ts';
import { hangTimer } from './hang.ts';

const isSoak = process.env.OPSCTL_SOAK === '1';
/** Two upgrades between minor versions. A scenario uses the first upgrade, the second upgrade, or both. */
const is36 = isSoak && hasBinaries('3.6', '3.5-late');
const [first, middle, last] = is36 ? (['3.4', '3.5', '3.6'] as const) : (['3.3', '3.4', '3.5'] as const);
const [from, to] = is36 ? ([middle, last] as const) : ([first, middle] as const);
/**
 * 3.4 writes a read of the v2 interface into its log at each `/health` request. 3.6 does not start if the log contains
 * a v2 read after the last snapshot, so these members take snapshots often.
 */
const overThreeMinors: BedOptions = is36 ? { snapshotCount: 10 } : {};
const drivers: readonly BedKind[] = [
  'local',
  'ssh + local',
  'systemd',
  'ssh + systemd',
  'hooks',
  'docker',
  'podman',
];

let bed: Bed | undefined;
afterEach(async () => {
  await bed?.close();
  bed = undefined;
});

const outcome = ({ code, stderr, stdout }: Ended): string =>
  `${code}${code === 0 ? '' : ` ${stderr}${stdout.slice(-2000)}`}`;
const all = (minor: string): string[] => [minor, minor, minor];
const unattended = ['--yes', '--accept-point-of-no-return'] as const;
const upgrade = ['kv', 'upgrade', ...unattended] as const;
const resume = ['kv', 'resume', ...unattended] as const;
const n2 = (text: (server: string) => string) => (place: Place, server: string) =>
  place.name === 'n2' ? `[ "$1" = --version ] && exec ${server} --version\n${text(server)}` : undefined;
/** Returns a script that runs the server and kills it after the given time. */
const dyingAfter = (seconds: number) => (server: string) =>
  `${server} "$@" & p=$!; trap 'kill -TERM $p; wait $p; exit 0' TERM\n( sleep ${seconds}; kill -9 $p ) & k=$!; wait $p; kill $k 2>/dev/null; exit 1`;

type Scenario = {
  readonly name: string;
  readonly options?: BedOptions;
  /** The scenario performs two upgrades instead of one. */
  readonly minors?: 3;
  /** The version that the members run at the start, if it is not the previous version. */
  readonly begins?: string;
  readonly run: (bed: Bed) => Promise<void>;
  /** Drivers that do not support the scenario. */
  readonly not?: readonly BedKind[];
  /** Drivers whose cells are in the short suite. Each run includes a third of the cells. */
  readonly quick?: readonly BedKind[];
  /** A row of `test/completeness/defects.tsv` whose quick cells are in every run. */
  readonly defect?: string;
  /** A row of `test/completeness/defects.tsv` whose cells are only in the soak. */
  readonly defectOfSoak?: string;
};

/**
 * A container daemon restarts a container automatically. If a run has never seen the container down, the run must at least not
 * complete.
 */
const failedCodes = ({ kind }: Bed): RegExp => (kind === 'docker' || kind === 'podman' ? /^(8|12) / : /^12 /);
const failedOn =
  (text: RegExp) => async (one: Bed, wrap: (place: Place, server: string) => string | undefined) => {
    one.offer(from, to, wrap);
    // The leader is upgraded last. If it were n2, a server that exits seconds after its gate would run until the end of the upgrade.
    expect(outcome(await one.opsctl('kv', 'move-leader', 'n1'))).toBe('0');
    const failed = await one.opsctl(...upgrade);
    expect(outcome(failed)).toMatch(failedCodes(one));
    expect(failed.stderr).toMatch(text);
    if (failed.code === 8) expect(outcome(await one.opsctl('kv', 'rollback', '--yes'))).toMatch(/^12 /);
    expect((await one.versions())[1]).toBe(from);
    one.offer(from, to);
    const again = failed.code === 8 ? upgrade : resume;
    expect(outcome(await one.opsctl(...again))).toBe('0');
    expect(await one.versions()).toEqual(all(to));
  };

const ssh: readonly BedKind[] = ['ssh + local', 'ssh + systemd'];
const withoutSsh = drivers.filter((driver) => !ssh.includes(driver));
const withoutUnits = drivers.filter((driver) => !driver.endsWith('systemd'));
/** No service manager restarts these servers after a crash. */
const unwatched: readonly BedKind[] = ['local', 'ssh + local', 'hooks', 'podman'];

/**
 * Waits without a time limit, because the machine may be slow. If the run ends before this journal line, the failure shows its
 * output.
 */
const isIn = async (one: Bed, text: string, running: Promise<Ended>): Promise<void> => {
  let ended: Ended | undefined;
  void running.then((end) => {
    ended = end;
  });
  await expect.poll(() => ended === undefined && !one.journal().includes(text), { interval: 5 }).toBe(false);
  expect(one.journal(), ended && outcome(ended)).toContain(text);
};
/** Waits until the stop of n2 has completed. */
const isN2Down = async (one: Bed, running: Promise<Ended>): Promise<void> => {
  await isIn(one, '"n2.stop"', running);
  for (const isHung = hangTimer(); !isHung() && (await one.versions())[1] !== 'off'; ) await pause(2);
};
/** Crashes every member in sequence and checks that each member restarts with the version that it had. */
const crashAll = async (one: Bed): Promise<void> => {
  const before = await one.versions();
  expect(before).not.toContain('off');
  // No service manager would restart these servers; the operator would select the program.
  if (unwatched.includes(one.kind)) return;
  for (const place of one.places) {
    const old = one.pid(place);
    one.crash(place);
    for (const isHung = hangTimer(); !isHung() && (one.pid(place) ?? old) === old; ) await pause(50);
    for (const isHung = hangTimer(); !isHung() && (await one.versions()).includes('off'); ) await pause(50);
  }
  expect(await one.versions()).toEqual(before);
};
/** Sends SIGKILL after a step of a member has ended, then abandons the run. A member that is down must be started again. */
const givenUpAfter = async (one: Bed, step: string, count: number): Promise<void> => {
  const [earlier] = one.journal().split('\n');
  const child = one.begin(...upgrade);
  const ended = new Promise((resolve) => child.on('close', resolve));
  const isThere = (): boolean => {
    const lines = one.journal().split('\n');
    const found = lines.filter((line) => line.includes('"kind":"end"') && line.includes(`.${step}"`));
    return lines[0] !== earlier && found.length >= count;
  };
  for (const isHung = hangTimer(); !isHung() && !isThere(); ) await pause(5);
  one.kill(child);
  await ended;
  const given = await one.opsctl('kv', 'abort', '--yes');
  if (given.code === 0) return;
  expect(given.stderr).toContain('MEMBER_DOWN');
  expect(outcome(await one.opsctl('kv', 'rollback', '--yes'))).toMatch(/^12 /);
};

const scenarios: readonly Scenario[] = [
  {
    name: 'upgrade; upgrade again with a failure, and back to the version before',
    minors: 3,
    options: { ...overThreeMinors, restart: 'always' },
    quick: ['systemd'],
    run: async (one) => {
      one.offer(first, middle);
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(all(middle));
      one.offer(
        middle,
        last,
        n2(() => 'exit 1'),
      );
      expect(outcome(await one.opsctl(...upgrade))).toMatch(/^12 /);
      expect((await one.versions())[1]).toBe(middle);
      expect(outcome(await one.opsctl('kv', 'rollback', '--yes'))).toMatch(/^12 /);
      expect(await one.versions()).toEqual(all(middle));
      one.offer(middle, last);
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(all(last));
    },
  },
  ...[4, ...(isSoak ? [30] : [])].map(
    (seconds): Scenario => ({
      name: `a start that takes ${seconds} s`,
      quick: ['systemd'],
      defect: 'U-1',
      run: async (one) => {
        one.offer(
          from,
          to,
          n2((server) => `sleep ${seconds}; exec ${server} "$@"`),
        );
        expect(outcome(await one.opsctl(...upgrade))).toBe('0');
        expect(await one.versions()).toEqual(all(to));
      },
    }),
  ),
  {
    name: 'the new version ends at its start',
    run: (one) =>
      failedOn(/n2/)(
        one,
        n2(() => 'echo "panic: no" >&2; exit 2'),
      ),
  },
  {
    name: 'the new version ends in its gate',
    run: (one) => failedOn(/n2/)(one, n2(dyingAfter(0.6))),
  },
  {
    name: 'the new version ends after its gate',
    // Longer than the lifetime of the server.
    options: { stableSeconds: 6 },
    run: (one) => failedOn(/n2/)(one, n2(dyingAfter(4))),
  },
  {
    name: 'SIGKILL of opsctl with a member down, 6 s, resume',
    quick: ['hooks'],
    run: async (one) => {
      one.offer(from, to);
      const child = one.begin(...upgrade);
      const ended = collected(child);
      await isIn(one, '"n2.stop"', ended);
      one.kill(child);
      await ended;
      await pause(6000);
      expect(outcome(await one.opsctl(...resume))).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'a run that is held and given up; no member changes its version by itself',
    options: { restart: 'always' },
    run: async (one) => {
      one.offer(from, to);
      expect(outcome(await one.opsctl('kv', 'upgrade', '--yes', '--hold-last'))).toMatch(/^8 /);
      expect(outcome(await one.opsctl('kv', 'abort', '--yes'))).toBe('0');
      expect(await one.versions()).toContain(from);
      await crashAll(one);
    },
  },
  {
    name: 'servers of another user, in a directory of their own',
    options: { uid: 65_534, cwd: true },
    quick: ['ssh + systemd'],
    run: async (one) => {
      one.offer(from, to);
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'every connection is cut while a member is down',
    not: withoutSsh,
    quick: ['ssh + local'],
    run: async (one) => {
      one.offer(from, to);
      const running = one.opsctl(...upgrade);
      await isN2Down(one, running);
      await one.cut(pause(3000));
      expect(outcome(await running)).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'every connection is cut while the new version is staged',
    not: withoutSsh,
    quick: ['ssh + local'],
    run: async (one) => {
      one.offer(from, to);
      const running = one.opsctl(...upgrade);
      await isIn(one, '"n2.stop"', running);
      await one.cut(pause(3000));
      expect(outcome(await running)).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'no connection for longer than a stop may take: the member may be down, and a resume brings it up',
    options: { stopSeconds: 3 },
    not: withoutSsh,
    run: async (one) => {
      one.offer(from, to);
      const running = one.opsctl(...upgrade);
      await isN2Down(one, running);
      await one.cut(running);
      const failed = await running;
      expect(outcome(failed)).toMatch(/^8 /);
      expect(failed.stderr).toMatch(/n2 may be down/);
      expect(outcome(await one.opsctl(...resume))).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  ...(
    [
      ['through a jump host that alone knows the name', { jump: true }],
      ['as a user who becomes root by sudo', { sudo: true }],
    ] as const
  ).map(
    ([name, own]): Scenario => ({
      name,
      options: { ssh: own },
      not: withoutSsh,
      quick: 'jump' in own ? [] : ['ssh + local'],
      run: async (one) => {
        one.offer(from, to);
        expect(outcome(await one.opsctl(...upgrade))).toBe('0');
        expect(await one.versions()).toEqual(all(to));
      },
    }),
  ),
  ...(
    [
      ['of another name takes over', {}, []],
      ['takes over through a jump host of its own', { ssh: { jump: true } }, withoutSsh],
    ] as const
  ).map(
    ([name, options, not]): Scenario => ({
      name: `the machine of the operator is lost with a member down, and another one ${name}`,
      options,
      not,
      quick: not.length === 0 ? ['local'] : ['ssh + local'],
      run: async (one) => {
        one.offer(from, to);
        const child = one.begin(...upgrade);
        const ended = collected(child);
        await isN2Down(one, ended);
        one.kill(child);
        await ended;
        rmSync(join(one.directory, 'home'), { recursive: true, force: true });
        // The lock of the killed process expires with its lease.
        let taken = await one.elsewhere(...resume);
        for (const isHung = hangTimer(); !isHung() && taken.stderr.includes('LOCKED'); ) {
          await pause(1000);
          taken = await one.elsewhere(...resume);
        }
        expect(outcome(taken)).toBe('0');
        expect(await one.versions()).toEqual(all(to));
        // The journal contains both hosts: the host that started the run and the host that completed it.
        expect(one.journal('second-home')).toMatch(/"kind":"resumed".*"host":"bastion-2"/);
      },
    }),
  ),
  {
    name: 'two operators',
    quick: ['local'],
    run: async (one) => {
      one.offer(from, to);
      const first = one.opsctl(...upgrade);
      await isIn(one, '"n1.stop"', first);
      const second = await one.elsewhere(...upgrade);
      expect(outcome(second)).toMatch(/^10 /);
      expect(second.stderr).toMatch(/locked by|in progress/);
      expect(outcome(await first)).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'given up after each step, and a crash of each member; no member changes its version by itself',
    defectOfSoak: 'U-12',
    options: { restart: 'always' },
    run: async (one) => {
      one.offer(from, to);
      for (const [step, count, versions] of [
        ['snapshot', 1, all(from)],
        ['stop', 1, all(from)],
        ['start', 1, [from, from, to]],
        ['gate', 1, [from, to, to]],
        ['stop', 1, all(from)],
        ['gate', 2, [from, to, to]],
      ] as const) {
        await givenUpAfter(one, step, count);
        expect((await one.versions()).toSorted()).toEqual(versions);
        await crashAll(one);
      }
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      await crashAll(one);
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'a relative data directory in the configuration file of each member',
    options: { config: 'relative', cwd: true },
    // A container or a hook sets the working directory itself.
    not: ['hooks', 'docker', 'podman'],
    quick: ['ssh + local'],
    defect: 'U-22',
    run: async (one) => {
      one.offer(from, to);
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(all(to));
    },
  },
  {
    name: 'a restart with new configuration files',
    options: { config: 'whole' },
    not: ['hooks'],
    run: async (one) => {
      for (const { directory } of one.places) {
        const text = readFileSync(join(directory, 'etcd.yaml'), 'utf8');
        writeFileSync(join(directory, 'new.yaml'), `${text}max-request-bytes: 2097152\n`);
      }
      one.offer(from, from);
      const before = one.places.map((place) => one.pid(place));
      expect(outcome(await one.opsctl('kv', 'restart', '--keep-program', '--yes'))).toBe('0');
      expect(await one.versions()).toEqual(all(from));
      for (const [i, place] of one.places.entries()) {
        expect(one.pid(place)).not.toBe(before[i]);
        expect(readFileSync(join(place.directory, 'etcd.yaml'), 'utf8')).toContain(
          'max-request-bytes: 2097152',
        );
      }
    },
  },
  ...(hasBinaries('3.5', '3.5-late')
    ? [
        {
          name: 'a restart with a later patch of 3.5, and no way to a version that does not start',
          begins: '3.5-early',
          run: async (one: Bed) => {
            const patches = () => one.patches();
            const [old] = await patches();
            one.offer(
              '3.5-early',
              '3.5-late',
              n2(() => 'exit 1'),
            );
            expect(outcome(await one.opsctl('kv', 'restart', '--yes'))).toMatch(/^12 /);
            expect((await patches())[1]).toBe(old);
            one.offer('3.5-early', '3.5-late');
            expect(outcome(await one.opsctl('kv', 'resume', '--yes'))).toBe('0');
            const after = await patches();
            expect(new Set(after).size).toBe(1);
            expect(after[0]).not.toBe(old);
          },
        },
      ]
    : []),
  {
    name: 'a member that lost its data is replaced',
    options: { config: 'whole' },
    not: ['hooks'],
    run: async (one) => {
      one.offer(from, from);
      const [, second] = one.places as [Place, Place];
      one.stop(second);
      rmSync(second.data, { recursive: true, force: true });
      // The stopped member may have been the leader, so the other members elect a leader first.
      for (const { url, name } of one.places)
        await expect
          .poll(async () => name !== second.name && (await call(`${url}/health`)).status !== 200, {
            interval: 50,
          })
          .toBe(false);
      expect(outcome(await one.opsctl('kv', 'replace-member', 'n2', '--yes'))).toBe('0');
      expect(await one.versions()).toEqual(all(from));
    },
  },
  {
    name: 'a drop-in selects the program; a failure and a rollback take only theirs away',
    minors: 3,
    options: { ...overThreeMinors, dropIn: true, restart: 'always' },
    not: withoutUnits,
    quick: ['systemd'],
    run: async (one) => {
      const second = one.places[1] as Place;
      const program = () => readFileSync(join(second.programs, 'etcd'));
      const packaged = program();
      one.offer(first, middle);
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(all(middle));
      const selects = one.dropIn(second, middle);
      expect(selects).toMatch(new RegExp(`^ExecStart=\\S+opsctl-${middle}-`, 'm'));
      one.offer(
        middle,
        last,
        n2(() => 'exit 1'),
      );
      expect(outcome(await one.opsctl(...upgrade))).toMatch(/^12 /);
      const versions = await one.versions();
      expect(versions[1]).toBe(middle);
      expect(one.dropIn(second, middle)).toBe(selects);
      for (const [i, place] of one.places.entries())
        expect(one.dropIn(place, last) !== undefined).toBe(versions[i] === last);
      expect(outcome(await one.opsctl('kv', 'rollback', '--yes'))).toMatch(/^12 /);
      expect(await one.versions()).toEqual(all(middle));
      for (const place of one.places) expect(one.dropIn(place, last)).toBeUndefined();
      await crashAll(one);
      // opsctl never writes the program that the package installed.
      expect(program().equals(packaged)).toBe(true);
    },
  },
];

/** Defines the cells of one driver. Each driver has a dedicated test file, because files run in parallel. */
export const driverMatrix = (driver: BedKind): void => {
  const cells = scenarios
    .filter((scenario) => scenario.not?.includes(driver) !== true)
    .map((scenario) => ({ scenario, isQuick: scenario.quick?.includes(driver) === true }));
  const rest = cells.filter(({ scenario, isQuick }) => isQuick && scenario.defect === undefined);
  const turn = slice(rest, Math.ceil(rest.length / 3));
  describe.runIf(hasBinaries(first, middle, last))(
    `driver × scenario, ${first} → ${middle} → ${last}`,
    () => {
      for (const cell of cells) {
        const { scenario, isQuick } = cell;
        it.runIf(isSoak || (isQuick && (scenario.defect !== undefined || turn.includes(cell))))(
          `${driver}: ${scenario.name}`,
          {
            timeout: 600_000,
            ...covers(
              ...[scenario.defect, scenario.defectOfSoak].flatMap((id) =>
                id === undefined ? [] : [`defect/${id}` as const],
              ),
            ),
          },
          async ({ skip }) => {
            bed = await startBed(
              driver,
              scenario.minors === 3 ? first : (scenario.begins ?? from),
              scenario.options,
            );
            if (bed === undefined) return skip(`driver ${driver} cannot be had here; see stderr`);
            await scenario.run(bed);
          },
        );
      }
    },
  );
};

/** Every driver in every scenario, on real servers and a real service manager. Each cell is a test; those outside of `quick` run under OPSCTL_SOAK=1. */
import { afterEach, describe, expect, it } from 'vitest';
import { hasBinaries, pause } from '../support/cluster.ts';
import { startBed } from '../support/driver-beds.ts';
import type { Bed, BedKind, BedOptions, Ended, Place } from '../support/driver-beds.ts';

const drivers: readonly BedKind[] = ['local', 'ssh + local', 'systemd', 'ssh + systemd', 'hooks', 'docker'];
const isSoak = process.env['OPSCTL_SOAK'] === '1';

let bed: Bed | undefined;
afterEach(async () => {
  await bed?.close();
  bed = undefined;
});

const outcome = ({ code, stderr, stdout }: Ended): string =>
  `${code}${code === 0 ? '' : ` ${stderr}${stdout.slice(-2000)}`}`;
const unattended = ['--yes', '--accept-point-of-no-return'] as const;
const upgrade = ['kv', 'upgrade', ...unattended] as const;
const resume = ['kv', 'resume', ...unattended] as const;
const n2 = (text: (server: string) => string) => (place: Place, server: string) =>
  place.name === 'n2' ? `[ "$1" = --version ] && exec ${server} --version\n${text(server)}` : undefined;
/** Runs the server, and ends it a time after it was started. */
const dyingAfter = (seconds: number) => (server: string) =>
  `${server} "$@" & p=$!; trap 'kill -TERM $p; wait $p; exit 0' TERM\n( sleep ${seconds}; kill -9 $p ) & k=$!; wait $p; kill $k 2>/dev/null; exit 1`;

type Scenario = {
  readonly name: string;
  readonly options?: BedOptions;
  readonly run: (bed: Bed) => Promise<void>;
  /** Not every driver can be in it. */
  readonly not?: readonly BedKind[];
  /** Cells that every test run has. */
  readonly quick?: readonly BedKind[];
};

const failedOn =
  (text: RegExp) => async (one: Bed, wrap: (place: Place, server: string) => string | undefined) => {
    one.offer('3.3', '3.4', wrap);
    const failed = await one.opsctl(...upgrade);
    expect(outcome(failed)).toMatch(/^12 /);
    expect(failed.stderr).toMatch(text);
    expect((await one.versions())[1]).toBe('3.3');
    one.offer('3.3', '3.4');
    expect(outcome(await one.opsctl(...resume))).toBe('0');
    expect(await one.versions()).toEqual(['3.4', '3.4', '3.4']);
  };

const scenarios: readonly Scenario[] = [
  {
    name: 'upgrade; upgrade again with a failure, and back to the version before',
    options: { restart: 'always' },
    quick: ['systemd'],
    run: async (one) => {
      one.offer('3.3', '3.4');
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(['3.4', '3.4', '3.4']);
      one.offer(
        '3.4',
        '3.5',
        n2(() => 'exit 1'),
      );
      expect(outcome(await one.opsctl(...upgrade))).toMatch(/^12 /);
      expect((await one.versions())[1]).toBe('3.4');
      expect(outcome(await one.opsctl('kv', 'rollback', '--yes'))).toMatch(/^12 /);
      expect(await one.versions()).toEqual(['3.4', '3.4', '3.4']);
      one.offer('3.4', '3.5');
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(['3.5', '3.5', '3.5']);
    },
  },
  ...[4, ...(isSoak ? [30] : [])].map(
    (seconds): Scenario => ({
      name: `a start that takes ${seconds} s`,
      quick: ['systemd'],
      run: async (one) => {
        one.offer(
          '3.3',
          '3.4',
          n2((server) => `sleep ${seconds}; exec ${server} "$@"`),
        );
        expect(outcome(await one.opsctl(...upgrade))).toBe('0');
        expect(await one.versions()).toEqual(['3.4', '3.4', '3.4']);
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
    run: (one) => failedOn(/n2/)(one, n2(dyingAfter(4))),
  },
  {
    name: 'SIGKILL of opsctl with a member down, 6 s, resume',
    quick: ['hooks'],
    run: async (one) => {
      one.offer('3.3', '3.4');
      const child = one.begin(...upgrade);
      const ended = new Promise((resolve) => child.on('close', resolve));
      for (let i = 0; i < 4000 && !one.journal().includes('"n2.stop"'); i += 1) await pause(10);
      child.kill('SIGKILL');
      await ended;
      await pause(6000);
      expect(outcome(await one.opsctl(...resume))).toBe('0');
      expect(await one.versions()).toEqual(['3.4', '3.4', '3.4']);
    },
  },
  {
    name: 'a run that is held and given up; no member changes its version by itself',
    options: { restart: 'always' },
    not: ['local', 'ssh + local', 'hooks'],
    run: async (one) => {
      one.offer('3.3', '3.4');
      expect(outcome(await one.opsctl('kv', 'upgrade', '--yes', '--hold-last'))).toMatch(/^8 /);
      expect(outcome(await one.opsctl('kv', 'abort', '--yes'))).toBe('0');
      const before = await one.versions();
      expect(before).toContain('3.3');
      for (const place of one.places) {
        const old = one.pid(place);
        one.crash(place);
        for (let i = 0; i < 600 && (one.pid(place) ?? old) === old; i += 1) await pause(50);
        for (let i = 0; i < 600 && (await one.versions()).includes('off'); i += 1) await pause(50);
      }
      expect(await one.versions()).toEqual(before);
    },
  },
  {
    name: 'servers of another user, in a directory of their own',
    options: { uid: 65_534, cwd: true },
    quick: ['ssh + systemd'],
    run: async (one) => {
      one.offer('3.3', '3.4');
      expect(outcome(await one.opsctl(...upgrade))).toBe('0');
      expect(await one.versions()).toEqual(['3.4', '3.4', '3.4']);
    },
    // Hooks start what they start: as whom is theirs to say.
    not: ['hooks', 'docker'],
  },
];

describe.runIf(hasBinaries('3.3', '3.4', '3.5'))('driver × scenario', () => {
  for (const scenario of scenarios)
    for (const driver of drivers) {
      if (scenario.not?.includes(driver)) continue;
      it.runIf(isSoak || scenario.quick?.includes(driver) === true)(
        `${driver}: ${scenario.name}`,
        async ({ skip }) => {
          bed = await startBed(driver, '3.3', scenario.options);
          if (bed === undefined) return skip(`driver ${driver} cannot be had here; see stderr`);
          await scenario.run(bed);
        },
        600_000,
      );
    }
});

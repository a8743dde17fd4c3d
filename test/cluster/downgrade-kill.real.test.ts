/** A downgrade of simulated members that is killed and then resumed, rolled back or aborted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { consent } from '../support/consent.ts';
import { killedWhen, newestJournal } from '../support/killed-run.ts';
import { type Simulated, complaint, lostAt, simulated, startWriting } from '../support/simulated.ts';
import { testSeed } from '../support/seeded.ts';

const prefix = '/v3';
let home: Program;
let cluster: Simulated | undefined;
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

/** Three members of 3.6 with 3.5 as their previous version. */
const at36 = async (): Promise<Simulated> => {
  const flags = ['--monitor-ms', '200', '--version', '3.5.33', '--new-version', '3.6.14'];
  const started = await simulated(home, ...flags);
  cluster = started;
  const ended = await started.kv('upgrade', '--stable-for', '0');
  expect(ended.code, ended.stderr).toBe(0);
  return started;
};
const wordsOf = ({ file }: Simulated, verb: string, ...more: string[]): string[] => [
  ...['kv', verb, '--cluster', file, ...consent(verb), '-o', 'json', ...more],
];
const everywhere = (version: string): string[] => Array(3).fill(version);
/** Returns the downgrade state that each 3.6 member reports. */
const downgradeInfo = ({ urls }: Simulated): Promise<unknown[]> =>
  Promise.all(
    urls.map(async (url) => {
      const reply = await fetch(`${url}/v3/maintenance/status`, { method: 'POST', body: '{}' });
      return ((await reply.json()) as Record<string, unknown>)['downgradeInfo'];
    }),
  );
const closed = (): string => newestJournal(home.home).at(-1) ?? '';

/** Matches only the journal of this downgrade and not that of an earlier run. */
const fresh =
  (fits: (lines: readonly string[]) => boolean) =>
  (lines: readonly string[]): boolean =>
    lines[0]?.includes('"kind":"downgrade"') === true && fits(lines);

describe('kv abort of a downgrade', () => {
  it('abort before the first member cancels it in the store', async () => {
    const three = await at36();
    const enabled = fresh((lines) => lines.some((line) => /"end","step":"enable-downgrade"/.test(line)));
    const { wasKilled } = await killedWhen(home, wordsOf(three, 'downgrade', '--stable-for', '0'), enabled);
    expect(wasKilled).toBe(true);
    expect(await three.versions()).toEqual(everywhere('3.6.14'));
    expect(await downgradeInfo(three)).toEqual(
      everywhere('').map(() => expect.objectContaining({ enabled: true })),
    );
    const given = await three.kv('abort');
    expect(given.code, given.stderr).toBe(0);
    expect(JSON.parse(given.stdout)).toMatchObject({
      outcome: 'aborted',
      upgraded: [],
      downgrade: 'cancelled',
    });
    expect(await three.clusterVersions()).toEqual(everywhere('3.6.0'));
    for (const info of await downgradeInfo(three)) expect(info).not.toMatchObject({ enabled: true });
    expect(closed()).toContain('the downgrade to 3.5 was canceled');
  });

  it('abort after the first member reports that it is active, and kv upgrade ends it', async () => {
    const three = await at36();
    expect((await three.kv('downgrade', '--stable-for', '0', '--hold-after', '1')).code).toBe(8);
    const given = await three.kv('abort');
    expect(given.code, given.stderr).toBe(0);
    const report = JSON.parse(given.stdout);
    expect(report).toMatchObject({ outcome: 'aborted', downgrade: 'enabled' });
    expect(report.upgraded).toHaveLength(1);
    expect(report.message).toMatch(
      /remains enabled in the cluster.*opsctl kv upgrade returns to 3\.6 and cancels it/,
    );
    expect(complaint(await three.kv('downgrade')).code).toBe('VERSION_PATH');
    const ended = await three.kv('upgrade', '--stable-for', '0');
    expect(ended.code, ended.stderr).toBe(0);
    expect(await three.clusterVersions()).toEqual(everywhere('3.6.0'));
    for (const info of await downgradeInfo(three)) expect(info).not.toMatchObject({ enabled: true });
  });
});

/** Number of journal lines of a complete downgrade of three members. */
const allLines = 38;
/** Returns all lines in a soak test. Otherwise returns a few lines, which differ in each run of the suite. */
const chosen = (half: number): number[] => {
  if (process.env['OPSCTL_SOAK'] === '1') return Array.from({ length: allLines }, (_, i) => i + 1);
  const seed = testSeed;
  return [1 + ((seed * 7 + half * 17) % allLines)];
};
const isOver = (): boolean => /"kind":"closed","outcome":"(done|rolled-back)"/.test(closed());

describe('kill -9 of opsctl after a line of the journal of a downgrade', () => {
  it.each(chosen(0))('line %i: kv resume completes 3.5 without data loss', async (count) => {
    const three = await at36();
    const writer = startWriting(three.urls, {}, prefix);
    const first = await killedWhen(
      home,
      wordsOf(three, 'downgrade', '--stable-for', '0'),
      fresh((lines) => lines.length >= count),
    );
    if (!first.wasKilled) expect(first.ended.code, first.ended.stderr).toBe(0);
    if (!isOver()) {
      const resumed = await three.kv('resume');
      expect(resumed.code, resumed.stderr).toBe(0);
    }
    const history = await writer.stop();
    expect(history.failed).toBe(0);
    expect(await three.versions()).toEqual(everywhere('3.5.33'));
    expect(await three.clusterVersions()).toEqual(everywhere('3.5.0'));
    for (const url of three.urls) expect(await lostAt(url, history, prefix)).toEqual([]);
  });

  it.each(chosen(1))('line %i: kv rollback brings every member back to 3.6 and cancels', async (count) => {
    const three = await at36();
    const writer = startWriting(three.urls, {}, prefix);
    const first = await killedWhen(
      home,
      wordsOf(three, 'downgrade', '--stable-for', '0'),
      fresh((lines) => lines.length >= count),
    );
    const isDone = isOver();
    const back = await three.kv('rollback');
    const history = await writer.stop();
    expect(history.failed).toBe(0);
    for (const url of three.urls) expect(await lostAt(url, history, prefix)).toEqual([]);
    if (isDone) {
      expect([first.wasKilled || first.ended.code, complaint(back).code]).toEqual([
        expect.anything(),
        'NO_RUN',
      ]);
      return;
    }
    expect(back.code, back.stderr).toBe(12);
    expect(await three.versions()).toEqual(everywhere('3.6.14'));
    expect(await three.clusterVersions()).toEqual(everywhere('3.6.0'));
    for (const info of await downgradeInfo(three)) expect(info).not.toMatchObject({ enabled: true });
  });
});

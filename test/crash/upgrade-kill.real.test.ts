import { afterEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { consent } from '../support/consent.ts';
import { killedWhen, linesOfRun, newestJournal } from '../support/killed-run.ts';
import { type Simulated, lostAt, simulated, startWriting } from '../support/simulated.ts';
import { testSeed } from '../support/seeded.ts';

let home: Program | undefined;
let cluster: Simulated | undefined;
afterEach(async () => {
  await cluster?.stop();
});

const isSoak = process.env.OPSCTL_SOAK === '1';
/** Runs the upgrade and kills the program as soon as the journal matches. */
const killed = (fits: (lines: readonly string[]) => boolean) => {
  const words = ['kv', 'upgrade', '--cluster', (cluster as Simulated).file, ...consent('upgrade')];
  return killedWhen(home as Program, [...words, '--no-canary', '-o', 'json'], fits);
};

/** Returns the number of journal lines of an upgrade without interruptions. */
const undisturbed = async (): Promise<number> => {
  home = program();
  cluster = await simulated(home, '--monitor-ms', '300', '--members', '3');
  try {
    const { ended } = await killed(() => false);
    expect(ended.code, ended.stderr).toBe(0);
    return newestJournal(home.home).length;
  } finally {
    await cluster.stop();
    await home.close();
  }
};
const seed = testSeed;
/** All lines in a soak test. Otherwise a few lines, which differ in each run of the suite. */
const chosen = isSoak
  ? Array.from({ length: await undisturbed() }, (_, i) => i)
  : [0, 1, 2].map((third) => seed + third * 13);

describe('kill -9 of opsctl during an upgrade of simulated members', () => {
  it.each(chosen)(
    'a run that crashed after journal line %i is resumed without data loss and with at most one member down',
    async (count) => {
      home = program();
      cluster = await simulated(home, '--monitor-ms', '300', '--members', '3');
      const writer = startWriting(cluster.urls);
      const { wasKilled, ended } = await killed(
        (lines) => lines.length > (isSoak ? count : count % linesOfRun(lines)),
      );
      expect((await cluster.versions()).filter((version) => version === 'off').length).toBeLessThanOrEqual(1);
      const hasEnded = newestJournal(home.home).at(-1)?.includes('"kind":"closed"') === true;
      if (wasKilled && !hasEnded) {
        const words = ['kv', 'resume', '--cluster', cluster.file, ...consent('resume')];
        const resumed = await home.run([...words, '-o', 'json']);
        expect(resumed.code, resumed.stderr).toBe(0);
      } else if (!wasKilled) expect(ended.code, ended.stderr).toBe(0);
      const history = await writer.stop();
      expect(history.failed).toBe(0);
      expect(await cluster.versions()).toEqual(['3.3.27', '3.3.27', '3.3.27']);
      expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
      for (const url of cluster.urls) expect(await lostAt(url, history)).toEqual([]);
      const kinds = newestJournal(home.home).map((line) => JSON.parse(line));
      expect(kinds.at(-1)).toMatchObject({ kind: 'closed', outcome: 'done' });
    },
  );
});

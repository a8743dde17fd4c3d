import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { program, type Program } from '../support/built-program.ts';
import { pause } from '../support/cluster.ts';
import { complaint, simulated, type Simulated } from '../support/simulated.ts';
import { hangTimer } from '../support/hang.ts';

let home: Program;
const clusters: Simulated[] = [];
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await Promise.all(clusters.splice(0).map((cluster) => cluster.stop()));
});

/** Waits until a file below a directory contains the pattern and returns its text. */
const when = async (directory: string, name: string, wanted: RegExp): Promise<string> => {
  for (const isHung = hangTimer(); !isHung(); ) {
    const paths = existsSync(directory)
      ? (readdirSync(directory, { recursive: true }) as string[]).filter((path) => path.endsWith(name))
      : [];
    const text = paths
      .map((path) => readFileSync(join(directory, path), 'utf8'))
      .find((one) => wanted.test(one));
    if (text !== undefined) return text;
    await pause(50);
  }
  throw new Error(`${name} below ${directory} never had ${wanted}`);
};

describe('a fleet run that is killed', () => {
  it('a killed fleet with a member down resumes that cluster, then upgrades the others once', async () => {
    for (let i = 0; i < 2; i += 1)
      clusters.push(
        await simulated(home, '--monitor-ms', '500', '--members', '3', '--quota', String(1_000_000_000 + i)),
      );
    const [one, two] = clusters as [Simulated, Simulated];
    const file = join(home.home, 'fleet.yaml');
    writeFileSync(file, `name: shops\nclusters:\n  - ${one.file}\n  - ${two.file}\n`);
    const words = ['kv', 'fleet', file, '--yes', '--accept-point-of-no-return', '-o', 'json'];
    // The canary cannot finish before the kill, even if the kill is late.
    one.timeouts({ gate_seconds: 300 });
    for (const name of one.names)
      await one.mock('fault', 'never-healthy', '--member', name, '--only-version', '3.3');
    const killed = home.start(words);
    // The run of the canary has stopped a member.
    const journal = await when(join(home.home, 'state'), 'journal.jsonl', /"kind":"end","step":"n\d\.stop"/);
    const child = JSON.parse(journal.split('\n')[0] ?? '{}').owner.pid;
    killed.kill('SIGKILL');
    process.kill(child, 'SIGKILL');
    await killed.ended;
    expect((await one.mock('fault', 'clear')).code).toBe(0);
    const again = await home.run(words);
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain(
      'resuming an interrupted run of shops: 0 of 2 clusters are finished; started and unfinished',
    );
    const rows = JSON.parse(again.stdout);
    expect(rows.map(({ file: path, outcome }: { file: string; outcome: string }) => [path, outcome])).toEqual(
      [
        [one.file, 'done'],
        [two.file, 'done'],
      ],
    );
    for (const cluster of clusters)
      expect(await cluster.clusterVersions()).toEqual(['3.3.0', '3.3.0', '3.3.0']);
    const history = await home.json(['kv', 'history', '--all']);
    expect(
      history.map(({ resumes, outcome }: { resumes: number; outcome: string }) => [outcome, resumes]),
    ).toEqual([
      ['done', 0],
      ['done', 1],
    ]);
    // The second run finished, so the next command is a new run without changes.
    const third = await home.run(words);
    expect([third.code, third.stderr.includes('interrupted')]).toEqual([0, false]);
  });

  it('a reviewed digest runs exactly the plan that was reviewed', async () => {
    for (let i = 0; i < 2; i += 1)
      clusters.push(await simulated(home, '--members', '1', '--quota', String(1_000_000_000 + i)));
    const file = join(home.home, 'fleet.yaml');
    writeFileSync(file, `name: shops\nclusters: [${clusters.map((one) => one.file).join(', ')}]\n`);
    const words = ['kv', 'fleet', file, '--yes', '--accept-point-of-no-return', '-o', 'json'];
    const versions = () => Promise.all(clusters.map((cluster) => cluster.clusterVersions()));
    const plan = await home.run([...words, '--dry-run']);
    expect(plan.code, plan.stderr).toBe(0);
    const { digest } = JSON.parse(plan.stdout);
    expect(await versions()).toEqual([['3.2.0'], ['3.2.0']]);
    // Another flag makes another plan, so the reviewed digest does not allow it.
    const other = await home.run([...words, '--digest', digest, '--at-once', '2']);
    expect([other.code, await versions()]).toEqual([10, [['3.2.0'], ['3.2.0']]]);
    const reviewed = await home.run([...words, '--digest', digest]);
    expect(reviewed.code, reviewed.stderr).toBe(0);
    expect(await versions()).toEqual([['3.3.0'], ['3.3.0']]);
  });

  it('a fleet runs once at a time', async () => {
    clusters.push(await simulated(home, '--monitor-ms', '500', '--members', '3'));
    const [one] = clusters as [Simulated];
    const file = join(home.home, 'fleet.yaml');
    writeFileSync(file, `clusters: [${one.file}]\n`);
    const words = ['kv', 'fleet', file, '--yes', '--hold-last', '-o', 'json'];
    const first = home.start(words);
    await first.said(/: starts/);
    const second = await home.run(words);
    expect([second.code, complaint(second).code]).toEqual([10, 'LOCKED']);
    expect((await first.ended).code).toBe(0);
  });
});

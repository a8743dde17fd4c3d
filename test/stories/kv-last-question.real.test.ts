/** The point of no return: the log of a job without a prompt, and the prompt and input of a user at a real terminal. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atTerminal } from '../support/at-terminal.ts';
import { type Program, program } from '../support/built-program.ts';
import { covers } from '../support/covers.ts';

let home: Program;
let file: string;
beforeAll(async () => {
  home = program();
  file = join(home.home, 'sim', 'cluster.yaml');
  const started = await home.run(['mock', 'kv', 'start', '--dir', 'sim', '--monitor-ms', '200', '-q']);
  expect([started.code, started.stderr]).toEqual([0, '']);
});
afterAll(async () => {
  await home.run(['mock', 'kv', 'stop', '--dir', 'sim', '-q']);
});
const kv = (...words: string[]): string[] => ['kv', ...words, '--cluster', file];

it(
  'the log of a job ends with the outcome, the path of the report and the next command, not with the report',
  covers('defect/U-53'),
  async () => {
    const held = await home.run(kv('upgrade', '--yes', '--stable-for', '0'));
    expect(held.code, held.stderr).toBe(8);
    const lines = held.stdout.trim().split('\n');
    expect(lines.length, held.stdout).toBeLessThanOrEqual(12);
    expect(held.stdout).not.toContain('{');
    expect(lines[0]).toMatch(/^held before n\d, the last member of 3\.2/);
    for (const start of ['report ', 'journal ', 'next: '])
      expect(lines.filter((line) => line.startsWith(start))).toHaveLength(1);
  },
);

it(
  'the last question explains yes and no; the start word means no, the version means yes',
  covers('defect/U-51'),
  async () => {
    const { cluster } = await home.json(kv('status'));
    const resume = (answer: string) =>
      atTerminal(home.home, kv('resume'), [
        [' to confirm:', `${cluster}\r`],
        ['to continue past it', `${answer}\r`],
      ]);
    const held = await resume(cluster);
    expect(held.code, held.screen).toBe(8);
    for (const text of [
      /Point of no return: n\d is the last member on 3\.2\./,
      /Now: +n1 3\.\d\.\d+.*all\s+healthy\s+for/s,
      /Yes: +n\d is replaced and the cluster becomes 3\.3; after\s+that,\s+only\s+kv\s+restore\s+can\s+return/,
      /No: +the run holds here without any loss:\s+opsctl kv resume --cluster\s+\S+\s+continues\s+it,\s+opsctl\s+kv\s+rollback\s+--cluster\s+\S+\s+reverts\s+it/,
      /Type 3\.3 to continue past it, anything else to hold:/,
    ])
      expect(held.screen).toMatch(text);
    // A run on hold has not succeeded.
    expect(held.screen).toMatch(/^held before n\d/m);
    const crossed = await resume('3.3');
    expect(crossed.code, crossed.screen).toBe(0);
    expect((await home.json(kv('status'))).cluster_version).toBe('3.3.0');
  },
);

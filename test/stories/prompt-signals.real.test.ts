/** One signal stops a command that waits for input: the built program at a terminal, at every kind of prompt. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atTerminal } from '../support/at-terminal.ts';
import { type Program, program } from '../support/built-program.ts';

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

type Case = readonly [name: string, words: () => readonly string[], text: string];
const prompts: readonly Case[] = [
  ['a yes or no', () => ['tracker', 'labels', 'delete', '1'], '(y/N)'],
  ['a missing value', () => ['tracker', 'labels', 'create'], 'name'],
  ['the name of a cluster', () => ['kv', 'upgrade', '--cluster', file], 'to confirm:'],
];
const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 143],
] as const;

describe.each(prompts)('%s', (_, words, text) => {
  it.each(signals)('ends at the first %s with exit code %i', async (signal, code) => {
    const ran = await atTerminal(home.home, words(), [[text, { signal }]]);
    expect([ran.code, ran.code === code ? '' : ran.screen]).toEqual([code, '']);
  });
  it('ends at the first signal in plain text', async () => {
    const plain = { ACCESSIBLE: '1' };
    const at = text === '(y/N)' ? 'Type y or n' : text;
    const ran = await atTerminal(home.home, words(), [[at, { signal: 'SIGTERM' }]], plain);
    expect([ran.code, ran.code === 143 ? '' : ran.screen]).toEqual([143, '']);
  });
});

it('a signal at the point of no return holds the run, which another command continues', async () => {
  const upgrade = ['kv', 'upgrade', '--cluster', file, '--stable-for', '0'];
  const { cluster } = await home.json(['kv', 'status', '--cluster', file]);
  const ran = await atTerminal(home.home, upgrade, [
    ['to confirm:', `${cluster}\r`],
    ['to continue past it', { signal: 'SIGTERM' }],
  ]);
  // The run is on hold without data loss, and the exit code is that of an incomplete run.
  expect(ran.code, ran.screen).toBe(8);
  const status = await home.json(['kv', 'status', '--cluster', file]);
  expect(JSON.stringify(status)).toContain('held');
  const back = await home.run(['kv', 'rollback', '--cluster', file, '--yes']);
  expect([back.code, back.code === 12 ? '' : back.stderr]).toEqual([12, '']);
});

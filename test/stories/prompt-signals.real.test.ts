/** One signal stops a command that waits for input: the built program at a terminal, at every kind of prompt. */
import { readFileSync, writeFileSync } from 'node:fs';
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
    const at = text === '(y/N)' ? 'for no:' : text;
    const ran = await atTerminal(home.home, words(), [[at, { signal: 'SIGTERM' }]], plain);
    expect([ran.code, ran.code === 143 ? '' : ran.screen]).toEqual([143, '']);
  });
});

/** Every command of `kv` that prompts, with a text of its prompt. `SNAPSHOT` is a file with a checksum, `COPY` one without. */
const kvPrompts: readonly (readonly [line: string, text: string])[] = [
  ['upgrade', 'to confirm:'],
  ['restart --keep-program', 'to confirm:'],
  ['restore --snapshot SNAPSHOT --to 3.2', 'to confirm:'],
  ['restore --snapshot COPY --to 3.2 --skip-hash-check', 'to accept it:'],
  ['replace-member n2', 'to confirm:'],
  ['member remove n3', 'to confirm:'],
  ['defrag', 'to confirm:'],
  ['compact --keep-last 1', 'to confirm:'],
  ['restart --keep-program --confirm-each', 'to confirm:'],
  ['lease revoke LEASE', '(y/N)'],
  ['del a --prefix', '(y/N)'],
  ['init --out sim/cluster.yaml --endpoints ENDPOINT', '(y/N)'],
  ['init --out other.yaml', 'Client address of a running member'],
  ['restore --prefix a --at SNAPSHOT', '(y/N)'],
  ['snapshot prune snapshots --keep-last 1', '(y/N)'],
  ['fleet fleet.yaml --hold-last', '(y/N)'],
];
const isSoak = process.env['OPSCTL_SOAK'] === '1';
describe('prompts of the cluster commands', () => {
  const given: Record<string, string> = {};
  beforeAll(async () => {
    for (const words of [
      ['put', 'a', '1'],
      ['put', 'a', '2'],
      ['snapshot', 'save', 'whole.db'],
    ])
      expect(await home.run(['kv', ...words, '--cluster', file])).toMatchObject({ code: 0 });
    const [SNAPSHOT, COPY] = ['whole.db', 'copy.db'].map((name) => join(home.home, name)) as [string, string];
    writeFileSync(COPY, readFileSync(SNAPSHOT).subarray(0, -32));
    const { members } = await home.json(['kv', 'status', '--cluster', file]);
    const { id: LEASE } = await home.json(['kv', 'lease', 'grant', '6000', '--cluster', file]);
    await home.json(['kv', 'put', 'leased', '1', '--lease', LEASE, '--cluster', file]);
    for (let i = 0; i < 2; i += 1) {
      const save = ['kv', 'snapshot', 'schedule', 'snapshots', '--once', '--cluster', file];
      expect(await home.run(save)).toMatchObject({ code: 0 });
      // A key that the snapshot of the restore does not contain.
      expect(await home.run(['kv', 'put', 'ab', '1', '--cluster', file])).toMatchObject({ code: 0 });
    }
    writeFileSync(join(home.home, 'fleet.yaml'), `clusters:\n  - ${file}\n`);
    Object.assign(given, { SNAPSHOT, COPY, LEASE, ENDPOINT: members[0].client_url });
  });
  const rows = kvPrompts.flatMap(([line, text], i) =>
    (isSoak ? signals : [signals[i % signals.length] as (typeof signals)[number]]).map(
      ([signal, code]) => [line, signal, code, text] as const,
    ),
  );
  it.each(rows)('kv %s ends at the first %s with exit code %i', async (line, signal, code, text) => {
    const words = line.split(' ').map((word) => given[word] ?? word);
    const cluster = ['init', 'fleet'].includes(words[0] as string) ? [] : ['--cluster', file];
    const ran = await atTerminal(home.home, ['kv', ...words, ...cluster], [[text, { signal }]]);
    expect([ran.code, ran.code === code ? '' : ran.screen]).toEqual([code, '']);
  });
  it('kv recover-space ends at the first signal, and the alarm stays raised', async () => {
    const fault = ['--member', 'n1', '--dir', 'sim'];
    expect((await home.run(['mock', 'kv', 'fault', 'nospace', ...fault])).code).toBe(0);
    const recover = ['kv', 'recover-space', '--cluster', file];
    const ran = await atTerminal(home.home, recover, [['to confirm:', { signal: 'SIGINT' }]]);
    expect([ran.code, ran.code === 130 ? '' : ran.screen]).toEqual([130, '']);
    const alarms = await home.run(['kv', 'alarm', 'list', '--cluster', file, '-o', 'json']);
    expect(alarms.stdout).toContain('NOSPACE');
    expect((await home.run(['mock', 'kv', 'fault', 'clear', ...fault])).code).toBe(0);
  });
  // A hold refuses a restore before its prompt, so no other row has a hold.
  it('leave the cluster, its hold, its keys and its file unchanged', async () => {
    await home.run(['kv', 'hold', 'set', '--reason', 'freeze', '--cluster', file]);
    for (const [signal, code] of isSoak ? signals : signals.slice(0, 1)) {
      const ran = await atTerminal(
        home.home,
        ['kv', 'hold', 'remove', '--cluster', file],
        [['(y/N)', { signal }]],
      );
      expect([ran.code, ran.code === code ? '' : ran.screen]).toEqual([code, '']);
    }
    const status = await home.json(['kv', 'status', '--cluster', file]);
    expect(status).toMatchObject({ cluster_version: '3.2.0', hold: { reason: 'freeze' } });
    expect(status).not.toHaveProperty('unfinished_operation');
    expect(status).not.toHaveProperty('last_run');
    const keys = await home.json(['kv', 'get', 'a', '--cluster', file]);
    expect(keys).toMatchObject({ key: 'a', value: '2' });
    await home.run(['kv', 'hold', 'remove', '--cluster', file, '--yes']);
  });
});

it('a signal at a prompt before a member stops the run before that member is stopped', async () => {
  const { cluster } = await home.json(['kv', 'status', '--cluster', file]);
  const upgrade = ['kv', 'upgrade', '--cluster', file, '--stable-for', '0', '--confirm-each'];
  const ran = await atTerminal(home.home, upgrade, [
    ['to confirm:', `${cluster}\r`],
    ['Continue with', { signal: 'SIGHUP' }],
  ]);
  expect(ran.code, ran.screen).toBe(8);
  const { last_run, members } = await home.json(['kv', 'status', '--cluster', file]);
  expect([last_run.outcome, members.every((one: { is_healthy: boolean }) => one.is_healthy)]).toEqual([
    'stopped',
    true,
  ]);
  const abort = ['kv', 'abort', '--cluster', file];
  const kept = await atTerminal(home.home, abort, [['(y/N)', { signal: 'SIGTERM' }]]);
  expect([kept.code, kept.code === 143 ? '' : kept.screen]).toEqual([143, '']);
  const rollback = ['kv', 'rollback', '--cluster', file];
  const left = await atTerminal(home.home, rollback, [['to confirm:', { signal: 'SIGINT' }]]);
  expect([left.code, left.code === 130 ? '' : left.screen]).toEqual([130, '']);
  expect(await home.json(['kv', 'status', '--cluster', file])).toMatchObject({ last_run });
  const back = await home.run(['kv', 'rollback', '--cluster', file, '--yes']);
  expect([back.code, back.code === 12 ? '' : back.stderr]).toEqual([12, '']);
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

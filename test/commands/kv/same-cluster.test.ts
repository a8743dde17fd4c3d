import { describe, expect, it } from 'vitest';
import type { Command, Context } from '../../../src/cli/command.ts';
import { naming, namingItsCluster } from '../../../src/commands/kv/same-cluster.ts';
import { str } from '../../../src/core/field.ts';
import { AppError, problem } from '../../../src/core/problem.ts';
import { type Result, nothing, recordResult } from '../../../src/core/result.ts';

describe('a line to type next', () => {
  const named = naming({ cluster: 'prod/cluster.yaml' });
  it.each([
    ['opsctl kv resume', 'opsctl kv resume --cluster prod/cluster.yaml'],
    [
      'opsctl kv rollback, to bring all back',
      'opsctl kv rollback --cluster prod/cluster.yaml, to bring all back',
    ],
    ['opsctl kv plan --out FILE', 'opsctl kv plan --cluster prod/cluster.yaml --out FILE'],
    [
      'clear it; then opsctl kv alarm disarm',
      'clear it; then opsctl kv alarm disarm --cluster prod/cluster.yaml',
    ],
    ['opsctl kv status shows it', 'opsctl kv status --cluster prod/cluster.yaml shows it'],
    ['opsctl kv resume --cluster other.yaml', 'opsctl kv resume --cluster other.yaml'],
    ['opsctl kv init --endpoints URL', 'opsctl kv init --endpoints URL'],
    ['opsctl mock kv start', 'opsctl mock kv start'],
  ])('%s', (line, expected) => expect(named(line)).toBe(expected));
  it('is quoted where the shell wants it', () => {
    expect(naming({ cluster: "it's a.yaml" })('opsctl kv resume')).toBe(
      "opsctl kv resume --cluster 'it'\\''s a.yaml'",
    );
  });
  it('names endpoints only where a command takes them', () => {
    const named = naming({ endpoints: 'a:1,b:2' });
    expect(named('opsctl kv status')).toBe('opsctl kv status --endpoints a:1,b:2');
    expect(named('opsctl kv upgrade')).toBe('opsctl kv upgrade');
  });
  it('stays as it is where nothing was given', () =>
    expect(naming({})('opsctl kv resume')).toBe('opsctl kv resume'));
});

describe('a command of a cluster', () => {
  const values = { cluster: 'c.yaml' };
  const said: string[] = [];
  const log = { info: (text: string) => said.push(text), warn: (text: string) => said.push(text) };
  const context = { log } as unknown as Context;
  const commandOf = (run: Command['run']): Command => ({
    path: ['kv', 'x'],
    summary: 'x',
    flags: { cluster: { field: str(), summary: 'x' } },
    run,
  });
  const ran = (run: Command['run']): Promise<Result> => namingItsCluster(commandOf(run)).run(context, values);

  it('completes what it shows, never its data', async () => {
    const result = await ran(async (inner) => {
      inner.log.info('go on: opsctl kv resume');
      return recordResult(
        { hint: 'opsctl kv resume' },
        { text: 'opsctl kv resume', message: 'opsctl kv status' },
      );
    });
    expect(said).toEqual(['go on: opsctl kv resume --cluster c.yaml']);
    expect(result).toMatchObject({
      data: { hint: 'opsctl kv resume' },
      view: { text: 'opsctl kv resume --cluster c.yaml', message: 'opsctl kv status --cluster c.yaml' },
    });
  });
  const failure = new AppError('unsafe', 'refused; see opsctl kv check', {
    code: 'X',
    tryThis: ['opsctl kv resume'],
    problems: [problem('a', 'rule', 'is bad', 'opsctl kv status')],
    data: { a: 1 },
  });
  it('completes its error, and keeps everything else of it', async () => {
    await expect(ran(() => Promise.reject(failure))).rejects.toMatchObject({
      category: 'unsafe',
      message: 'refused; see opsctl kv check --cluster c.yaml',
      detail: {
        code: 'X',
        data: { a: 1 },
        tryThis: ['opsctl kv resume --cluster c.yaml'],
        problems: [{ hint: 'opsctl kv status --cluster c.yaml' }],
      },
    });
  });
  it('also when the error comes after some rows', async () => {
    const rows = async function* () {
      yield 1;
      throw failure;
    };
    const result = await ran(async () => ({ kind: 'rows', rows: rows() }));
    const read = async () => {
      for await (const row of (result as Result & { kind: 'rows' }).rows) expect(row).toBe(1);
    };
    await expect(read()).rejects.toMatchObject({
      detail: { tryThis: ['opsctl kv resume --cluster c.yaml'] },
    });
  });
  it('leaves other failures and commands without a cluster alone', async () => {
    const bug = new TypeError('bug');
    await expect(ran(() => Promise.reject(bug))).rejects.toBe(bug);
    const other: Command = { path: ['kv', 'y'], summary: 'y', run: async () => nothing() };
    expect(namingItsCluster(other)).toBe(other);
  });
});

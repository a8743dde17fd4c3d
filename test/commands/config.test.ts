import { beforeEach, describe, expect, test } from 'vitest';
import { commands } from '../../src/commands/config.ts';
import type { Context } from '../../src/api/context.ts';
import type { Values } from '../../src/core/flag.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Host } from '../../src/platform/host.ts';
import { problemText } from '../../src/core/problem.ts';
import type { Result } from '../../src/core/result.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { naming } from '../support/facts.ts';
import { contextWith } from '../support/context.ts';

let real: RealHost;
const hidden: string[] = [];
beforeEach(async () => {
  real = await realHost({ OPSCTL_LABELS_TOKEN: 'env-token', OPSCTL_LABELS_URL: 'https://l' });
  hidden.length = 0;
});

type Run = { readonly flags?: Record<string, string>; readonly stdin?: string; readonly typed?: string };
const contextOf = ({ flags = {}, stdin, typed }: Run): Context => {
  const terminal = {
    ...real.host.terminal,
    stdin: {
      ...real.host.terminal.stdin,
      async *bytes() {
        if (stdin) yield Buffer.from(stdin);
      },
    },
    prompts: { ...real.host.terminal.prompts, text: async () => typed ?? '' },
  };
  const host: Host = { ...real.host, terminal };
  const log = { hide: (secret: string) => void hidden.push(secret) };
  return contextWith({
    host,
    settings: loadSettings(host, flags),
    log,
    isInteractive: typed !== undefined,
  });
};
const run = async (words: string, values: Values = {}, more: Run = {}): Promise<any> => {
  const command = commands.find(({ path }) => path.join(' ') === `config ${words}`);
  const result = (await command?.run(contextOf(more), values)) as Result;
  return result.kind === 'rows'
    ? [...(result.rows as unknown[])]
    : result.kind === 'raw'
      ? [...(result.chunks as string[])].join('')
      : result;
};
const work = { flags: { profile: 'work' } };
const set = (key: string, value: string, more: Run = work) => run('set', { key, value }, more);

test('set, get, list with origins, unset', async () => {
  expect(await set('tracker.url', 'https://t')).toMatchObject({
    view: { message: 'tracker.url is set in profile work' },
  });
  expect(await run('get', { key: 'tracker.url' }, work)).toBe('https://t\n');
  const rows = await run('list', { 'show-origin': true }, work);
  expect(rows[0]).toEqual({ key: 'profile', value: 'work', origin: 'flag --profile' });
  expect(rows).toContainEqual({ key: 'tracker.url', value: 'https://t', origin: 'profile work' });
  expect(rows).toContainEqual({
    key: 'labels.url',
    value: 'https://l',
    origin: 'environment OPSCTL_LABELS_URL',
  });
  expect(rows).toContainEqual({ key: 'timeout', value: '30s', origin: 'default' });
  await run('unset', { key: 'tracker.url' }, work);
  await expect(run('get', { key: 'tracker.url' }, work)).rejects.toMatchObject({ category: 'not-found' });
  expect(await run('unset', { key: 'tracker.url' }, work)).toMatchObject({
    view: { message: 'tracker.url was not set in profile work' },
  });
});

describe('secrets', () => {
  const check = commands.find(({ path }) => path[1] === 'set')?.check;

  test('secrets are not accepted on the command line', () => {
    expect(check?.({ key: 'tracker.token', value: 'abc' }).map(problemText)).toEqual([
      expect.stringContaining('--stdin'),
    ]);
    expect(check?.({ key: 'timeout', value: '5s', stdin: true }).map(problemText)).toEqual([
      naming('<value>', '--stdin'),
    ]);
    expect(check?.({ key: 'tracker.token', stdin: true })).toEqual([]);
    expect(check?.({ key: 'timeout', value: '5s' })).toEqual([]);
  });

  test('secrets come from stdin or a prompt, are hidden from then on, and masked in lists', async () => {
    await run('set', { key: 'tracker.token', stdin: true }, { ...work, stdin: ' tok-1 \nrest' });
    expect(hidden).toEqual(['tok-1']);
    expect(await run('list', {}, work)).toContainEqual({ key: 'tracker.token', value: '***' });
    expect(await run('list', {}, work)).toContainEqual({ key: 'labels.token', value: '***' });
    await run('set', { key: 'tracker.token' }, { ...work, typed: 'tok-2' });
    expect(await run('get', { key: 'tracker.token', reveal: true }, work)).toBe('tok-2\n');
  });

  test('secrets are printed only with --reveal', async () => {
    await expect(run('get', { key: 'labels.token' })).rejects.toMatchObject({
      category: 'usage',
      detail: { tryThis: [naming('opsctl config get', 'labels.token', '--reveal')] },
    });
    expect(await run('get', { key: 'labels.token', reveal: true })).toBe('env-token\n');
  });

  test('the password in an address is printed only with --reveal', async () => {
    const given = { flags: { 'labels.url': 'https://ada:secret-1@x.example' } };
    await expect(run('get', { key: 'labels.url' }, given)).rejects.toMatchObject({ category: 'usage' });
    expect(await run('get', { key: 'labels.url', reveal: true }, given)).toContain('secret-1');
  });

  test('an empty stdin without a terminal is a usage error', async () => {
    await expect(run('set', { key: 'tracker.token', stdin: true }, work)).rejects.toMatchObject({
      category: 'usage',
    });
    await expect(run('set', { key: 'tracker.token' }, work)).rejects.toMatchObject({
      category: 'usage',
      detail: { tryThis: [naming('opsctl config set', 'tracker.token', '--stdin')] },
    });
  });
});

test('list --all shows what could be set', async () => {
  expect(await run('list', { all: true })).toContainEqual({
    key: 'ca_file',
    value: null,
    environment: 'OPSCTL_CA_FILE',
    summary: expect.any(String),
  });
});

test('profiles and use', async () => {
  await set('tracker.url', 'https://t');
  expect(await run('profiles')).toEqual([
    { name: 'mock', in_use: true, settings: 0 },
    { name: 'work', in_use: false, settings: 1 },
  ]);
  await run('use', { profile: 'work' });
  expect(await run('profiles')).toEqual([
    { name: 'mock', in_use: false, settings: 0 },
    { name: 'work', in_use: true, settings: 1 },
  ]);
  await expect(run('use', { profile: 'nope' })).rejects.toMatchObject({ category: 'config' });
  expect(await run('path')).toBe(`${real.directory}/opsctl/config/config.json\n`);
});

test('a real URL without a profile makes the profile `default` and uses it; the mock stays the mock', async () => {
  await set('tracker.url', 'https://t', {});
  expect(contextOf({}).settings.profile).toMatchObject({ name: 'default', origin: 'opsctl config use' });
  await expect(set('tracker.url', 'https://t', { flags: { profile: 'mock' } })).rejects.toMatchObject({
    category: 'config',
    detail: { code: 'PROFILE_BUILT_IN' },
  });
});

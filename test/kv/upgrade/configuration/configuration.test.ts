import { describe, expect, it } from 'vitest';
import {
  flagsOf,
  lintFile,
  lintFlags,
  parseConfig,
} from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { migrateConfig } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const retention = 'auto-compaction-retention';
const withGateway = { 'enable-grpc-gateway': true };
const levels = (file: Record<string, unknown>, to: Minor = '3.3'): string =>
  lintFile(file, to)
    .map(({ level, key }) => `${level} ${key}`)
    .join();

describe('interpretation of a configuration file by 3.3 (spec/store#measured-configuration)', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['a number', { [retention]: 1 }, `fail ${retention}`],
    ['a number with a mode', { [retention]: 24, 'auto-compaction-mode': 'periodic' }, `fail ${retention}`],
    ['nothing', {}, ''],
    ['the number zero is a number too', { [retention]: 0 }, `fail ${retention}`],
    ['zero as a text is off', { [retention]: '0' }, ''],
    ['digits without a mode compact nothing', { [retention]: '1' }, `warn ${retention}`],
    ['a duration without a mode', { [retention]: '24h' }, `fail ${retention}`],
    ['periodic and a duration', { [retention]: '24h', 'auto-compaction-mode': 'periodic' }, ''],
    ['periodic and digits', { [retention]: '24', 'auto-compaction-mode': 'periodic' }, ''],
    [
      'periodic and no duration',
      { [retention]: 'abc', 'auto-compaction-mode': 'periodic' },
      `fail ${retention}`,
    ],
    ['revision and digits', { [retention]: '1000', 'auto-compaction-mode': 'revision' }, ''],
    [
      'revision and a duration',
      { [retention]: '1h', 'auto-compaction-mode': 'revision' },
      `warn ${retention}`,
    ],
    [
      'an unknown mode',
      { [retention]: '1', 'auto-compaction-mode': 'sometimes' },
      'fail auto-compaction-mode',
    ],
    ['a log output is a string', { 'log-output': 'stderr' }, ''],
  ])('%s', (_, file, expected) => {
    expect(levels(file)).toBe(expected);
  });
  it('3.2 takes the number, 3.4 wants a list of log outputs, 3.5 ignores the old log keys', () => {
    expect(levels({ [retention]: 1 }, '3.2')).toBe('');
    expect(levels({ 'log-output': 'stderr', ...withGateway }, '3.4')).toBe('fail log-output');
    expect(levels({ 'log-output': 'stderr', debug: true }, '3.5')).toBe('warn log-output,warn debug');
  });
});

describe('the JSON gateway of a member with a configuration file', () => {
  it.each<[string, Record<string, unknown>, Minor, string]>([
    ['is off from 3.4 on unless the file names it', { name: 'n1' }, '3.4', 'warn enable-grpc-gateway'],
    ['is on when the file says so', { name: 'n1', ...withGateway }, '3.4', ''],
    ['is off when the operator wants it so', { 'enable-grpc-gateway': false }, '3.4', ''],
    ['is on in 3.3 and 3.5 in any case (3.3)', { name: 'n1' }, '3.3', ''],
    ['is on in 3.3 and 3.5 in any case (3.5)', { name: 'n1' }, '3.5', ''],
  ])('%s', (_, file, to, expected) => expect(levels(file, to)).toBe(expected));
  it(
    'the rewritten file enables the gateway, once',
    covers('spec/store#measured-configuration-4'),
    async () => {
      const { text, changes } = await migrateConfig('# mine\nname: n1\n', '3.4');
      expect(text).toBe('# mine\nname: n1\nenable-grpc-gateway: true\n');
      expect(changes).toEqual(['enable-grpc-gateway: true added']);
      expect((await migrateConfig(text, '3.4')).changes).toEqual([]);
    },
  );
});

describe('interpretation of a command line by version', () => {
  it.each<[string, string[], Minor, string]>([
    ['digits', [`--${retention}`, '1'], '3.3', ''],
    ['a duration', [`--${retention}=24h`], '3.3', ''],
    ['a fraction', [`--${retention}`, '0.5'], '3.3', `--${retention}`],
    ['a mode for 3.2', ['--auto-compaction-mode', 'periodic'], '3.2', '--auto-compaction-mode'],
    ['--debug for 3.4', ['--debug'], '3.4', ''],
    ['--debug for 3.5', ['--debug'], '3.5', '--debug'],
    ['--log-output for 3.5', ['--log-output', 'stderr'], '3.5', '--log-output'],
  ])('%s', (_, words, to, expected) => {
    expect(
      lintFlags(words, to)
        .map(({ key }) => key)
        .join(),
    ).toBe(expected);
  });
  it('reads flags in every form', () => {
    expect([
      ...flagsOf(['-name', 'n1', '--debug', '--data-dir=/x', '--force-new-cluster', '--a', '-1']),
    ]).toEqual([
      ['name', 'n1'],
      ['debug', 'true'],
      ['data-dir', '/x'],
      ['force-new-cluster', 'true'],
      ['a', 'true'],
    ]);
  });
});

describe('a wrapper whose own flags end with --', () => {
  const server = ['/usr/bin/etcd', '--name', 'n1', '--config-file=/e.yaml'];
  it.each([
    [['nice', '-n', '5', '--']],
    [['/usr/bin/setpriv', '--reuid', 'etcd', '--clear-groups', '--']],
    [['sudo', '-u', 'etcd', '--']],
    [['systemd-run', '--scope', '--unit=etcd', '--']],
    [['tini', '-g', '--', 'dumb-init', '--']],
  ])('the flags of the server behind it are read: %j', (wrapper) => {
    const both = [...wrapper, ...server];
    for (const words of [both, both.slice(1)]) {
      const flags = flagsOf(words);
      expect([flags.get('name'), flags.get('config-file')]).toEqual(['n1', '/e.yaml']);
    }
  });
});

describe('a command line that no version accepts (seen on 3.3, 3.4 and 3.5)', () => {
  it.each<[string, string]>([
    ['--data-dir /d --name', 'fail --name'],
    ['--auto-tls --name', 'fail --name'],
    ['--config-file', 'fail --config-file'],
    ['--data-dir /d --data-dir', 'fail --data-dir'],
    ['--name --data-dir /d', 'fail --name'],
    ['--name --auto-tls', 'warn --name'],
    ['-- --name x', 'fail --name'],
    ['-- x', 'fail x'],
    ['-- x --name y', 'fail x'],
    ['--data-dir /d -', 'fail -'],
    ['--data-dir /d --', ''],
    ['--name=--data-dir --auto-tls', ''],
    ['--name -x', ''],
    ['--name=', ''],
    ['--name $NAME --data-dir /d', ''],
  ])('%s', (line, expected) => {
    for (const to of ['3.3', '3.5'] as const)
      expect(
        lintFlags(['/usr/bin/etcd', ...line.split(' ')], to)
          .map(({ level, key }) => `${level} ${key}`)
          .join(),
      ).toBe(expected);
  });
  it('an empty list of origins stops 3.4, and not 3.3', () => {
    const levels34 = (to: Minor) => lintFlags(['etcd', '--cors='], to).map(({ level }) => level);
    expect([levels34('3.3'), levels34('3.4'), levels34('3.5')]).toEqual([[], ['fail'], ['fail']]);
  });
});

describe('rewriting a configuration file', () => {
  const before =
    '# member 1\nname: n1 # its name\n\n# hours\nauto-compaction-retention: 24 # a day\nquota-backend-bytes: 8589934592\n';
  it(
    'spec/store#items: a quoted string and mode periodic; comments, order and everything else are kept',
    covers('spec/store#items-1'),
    async () => {
      const { text, changes } = await migrateConfig(before, '3.3');
      expect(text).toBe(
        '# member 1\nname: n1 # its name\n\n# hours\nauto-compaction-retention: "24" # a day\nquota-backend-bytes: 8589934592\nauto-compaction-mode: periodic\n',
      );
      expect(changes).toHaveLength(2);
      expect(lintFile(((await parseConfig(text)) as { file: Record<string, unknown> }).file, '3.3')).toEqual(
        [],
      );
    },
  );
  it('a valid file is unchanged, including by a second rewrite', async () => {
    const first = await migrateConfig(before, '3.3');
    expect(await migrateConfig(first.text, '3.3')).toEqual({ text: first.text, changes: [] });
    expect((await migrateConfig(before, '3.2')).text).toBe(before);
  });
  it('a zero is only quoted: compaction was disabled and stays disabled', async () => {
    const { text } = await migrateConfig('auto-compaction-retention: 0\n', '3.3');
    expect(text).toBe('auto-compaction-retention: "0"\n');
  });
  it('a log output becomes a list in its place', async () => {
    expect(
      (await migrateConfig('# top\nlog-output: stderr # where\nenable-grpc-gateway: true\n', '3.4')).text,
    ).toBe('# top\nlog-outputs: [ stderr ] # where\nenable-grpc-gateway: true\n');
  });
  it('a malformed file is reported as malformed', async () => {
    expect(await parseConfig('a: [')).toHaveProperty('broken');
    expect(await parseConfig('- a')).toEqual({ broken: naming('not a mapping') });
    expect(await parseConfig('')).toEqual({ file: {} });
  });
});

describe('rewrites of a plan', () => {
  const mode = 'auto-compaction-mode';
  const fixed = (file: Record<string, unknown>, to: '3.3' | '3.5' | '3.6') =>
    lintFile(file, to).map(({ level, isFixed }) => `${level}${isFixed === true ? ', rewritten' : ''}`);
  it('a retention without a mode, and a numeric one, are rewritten', () => {
    expect(fixed({ [retention]: '24h' }, '3.6')).toEqual(['warn, rewritten']);
    expect(fixed({ [retention]: '24' }, '3.5')).toEqual(['warn, rewritten']);
    expect(fixed({ [retention]: '24h' }, '3.5')).toEqual(['fail, rewritten']);
    expect(fixed({ [retention]: 24 }, '3.3')).toEqual(['fail, rewritten']);
  });
  it('no value that only its operator knows', () => {
    expect(fixed({ [retention]: [1] }, '3.3')).toEqual(['fail']);
    expect(fixed({ [retention]: 'x', [mode]: 'periodic' }, '3.5')).toEqual(['fail']);
    expect(fixed({ [retention]: '1h', [mode]: 'revision' }, '3.5')).toEqual(['warn']);
    expect(fixed({ [mode]: 'sometimes' }, '3.5')).toEqual(['fail']);
    expect(fixed({ 'log-outputs': 'stderr' }, '3.5')).toEqual(['fail']);
  });
  it.each([
    [`${retention}: 24h\n`, `${retention}: 24h\n${mode}: periodic\n`],
    [`${retention}: 7\n${mode}:\n`, `${retention}: "7"\n${mode}:\n`],
    [`${retention}: 7\n${mode}: revision\n`, `${retention}: "7"\n${mode}: revision\n`],
  ])('%j becomes %j', async (before, after) => expect((await migrateConfig(before, '3.5')).text).toBe(after));
});

it('flags of the retention are those that the version reads', () => {
  const mode = 'auto-compaction-mode';
  const flags = (to: '3.2' | '3.3', ...words: string[]) => lintFlags(words, to).map(({ key }) => key);
  expect(flags('3.2', `--${mode}=periodic`)).toEqual([`--${mode}`]);
  expect(flags('3.2', '--name', 'n1')).toEqual([]);
  expect(flags('3.3', `--${mode}=periodic`)).toEqual([]);
  // A real 3.3 exits with: missing unit in duration.
  expect(flags('3.3', `--${mode}=revision`, `--${retention}=0.5`)).toEqual([`--${retention}`]);
  expect(flags('3.3', `--${mode}=periodic`, `--${retention}=0.5`)).toEqual([`--${retention}`]);
});

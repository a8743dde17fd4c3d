import { describe, expect, it } from 'vitest';
import {
  StartRefused,
  checkConfig,
  checkRetention,
  configFrom,
  flagsFrom,
  settingsFrom,
} from '../../src/etcd-sim/server-flags.ts';
import { covers } from '../support/covers.ts';

/** Returns the result of a start: an empty text, or the exit code and the message. */
const withFlags = (minor: string, ...words: string[]): string =>
  said(() => checkRetention(flagsFrom(words, minor), minor, false));
const withFile = (minor: string, text: string): string =>
  said(() => checkRetention(checkConfig(configFrom(text), minor), minor, true));
const said = (work: () => void): string => {
  try {
    work();
    return 'starts';
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return `${error.code} ${error.message}`;
  }
};
const number = (type: string): RegExp =>
  new RegExp(`^1 .*cannot unmarshal ${type} into Go struct field configYAML.auto-compaction-retention`);

// spec/store#measured-configuration, line by line, with the columns 3.2, 3.3, 3.4 and 3.5.
describe.each([
  ['auto-compaction-retention: 1', ['starts', number('number'), number('number'), number('number')]],
  ['auto-compaction-retention: "1"', [number('string'), 'starts', 'starts', 'starts']],
  [
    'auto-compaction-retention: "24h"',
    [
      number('string'),
      '1 unsupported compaction mode',
      '1 unsupported compaction mode',
      '1 unsupported compaction mode',
    ],
  ],
  [
    'auto-compaction-mode: periodic\nauto-compaction-retention: "24h"',
    [number('string'), 'starts', 'starts', 'starts'],
  ],
  [
    "auto-compaction-mode: 'periodic' # hours\nauto-compaction-retention: '24'",
    [number('string'), 'starts', 'starts', 'starts'],
  ],
  [
    'auto-compaction-mode: periodic\nauto-compaction-retention: "abc"',
    [number('string'), /invalid duration "abc"/, /invalid duration "abc"/, /invalid duration "abc"/],
  ],
  [
    'auto-compaction-mode: revision\nauto-compaction-retention: "1h"',
    [number('string'), 'starts', 'starts', 'starts'],
  ],
  ['log-output: stderr', ['starts', 'starts', /^1 .*of type \[\]string/, 'starts']],
  [
    'auto-compaction-mode: revision\nauto-compaction-retention: "abc"',
    [number('string'), /invalid duration "abc"/, /invalid duration "abc"/, /invalid duration "abc"/],
  ],
  [
    'auto-compaction-mode: foo',
    [
      'starts',
      /unknown auto-compaction-mode "foo"/,
      /unknown auto-compaction-mode/,
      /unknown auto-compaction-mode/,
    ],
  ],
  ['max-request-bytes: 2000000', ['starts', 'starts', 'starts', 'starts']],
  [
    'max-request-bytes: "2000000"',
    Array(4).fill(
      /^1 .*cannot unmarshal string into Go struct field configYAML.max-request-bytes of type uint/,
    ),
  ],
  ['max-request-bytes: 1.5', Array(4).fill(/^1 .*cannot unmarshal number 1.5 /)],
  ['quota-backend-bytes: -1', ['starts', 'starts', 'starts', 'starts']],
  ['some-unknown-key: 7', ['starts', 'starts', 'starts', 'starts']],
] as const)('a file with %j', (text, expected) => {
  it.each(['3.2', '3.3', '3.4', '3.5'].map((minor, i) => [minor, expected[i]] as const))(
    'the setting behaves as in %s',
    covers('spec/store#measured-configuration-1', 'spec/store#measured-configuration-2'),
    (minor, wanted) => {
      if (wanted instanceof RegExp) expect(withFile(minor, text)).toMatch(wanted);
      else expect(withFile(minor, text)).toBe(wanted);
    },
  );
});

describe.each([
  [
    ['--auto-compaction-retention', '1'],
    ['starts', 'starts', 'starts', 'starts'],
  ],
  [
    ['--auto-compaction-retention', '24h'],
    [/^2 .*parse error/, 'starts', 'starts', 'starts'],
  ],
  [['--auto-compaction-retention=0.5'], [/^2 /, /^1 .*missing unit in duration "0.5"/, /^1 /, /^1 /]],
  [
    ['--auto-compaction-mode', 'periodic'],
    ['2 flag provided but not defined: -auto-compaction-mode', 'starts', 'starts', 'starts'],
  ],
  [
    ['--max-request-bytes', '2000000'],
    ['starts', 'starts', 'starts', 'starts'],
  ],
  [
    ['--max-request-bytes', 'much'],
    [/^2 .*parse error/, /^2 /, /^2 /, /^2 /],
  ],
  [
    ['--log-output', 'stderr'],
    ['starts', 'starts', 'starts', '2 flag provided but not defined: -log-output'],
  ],
  [
    ['--log-outputs', 'stderr'],
    [/^2 /, /^2 /, 'starts', 'starts'],
  ],
  [['--debug'], ['starts', 'starts', 'starts', '2 flag provided but not defined: -debug']],
  [['--experimental-initial-corrupt-check'], [/^2 /, 'starts', 'starts', 'starts']],
  [
    ['-name', 'n1', '--data-dir=x'],
    ['starts', 'starts', 'starts', 'starts'],
  ],
  [['--name'], [/^2 flag needs an argument: -name/, /^2 /, /^2 /, /^2 /]],
  [['stray'], [/^2 'stray' is not a valid flag/, /^2 /, /^2 /, /^2 /]],
] as const)('flags %j', (words, expected) => {
  it.each(['3.2', '3.3', '3.4', '3.5'].map((minor, i) => [minor, expected[i]] as const))(
    'the setting behaves as in %s',
    covers('spec/store#measured-configuration-3'),
    (minor, wanted) => {
      if (wanted instanceof RegExp) expect(withFlags(minor, ...words)).toMatch(wanted);
      else expect(withFlags(minor, ...words)).toBe(wanted);
    },
  );
});

describe('settings', () => {
  const settings = (...words: string[]) => settingsFrom(flagsFrom(words, '3.3'));
  it('settings have the documented defaults', () => {
    expect(settings()).toMatchObject({
      name: 'default',
      maxRequestBytes: 1_572_864,
      quotaBytes: 2 * 1024 ** 3,
      heartbeatMs: 100,
      electionMs: 1000,
    });
  });
  it('reads the members of the cluster', () => {
    const { cluster } = settings(
      '--name',
      'a',
      '--initial-cluster',
      'a=http://127.0.0.1:1,b=http://127.0.0.1:2',
    );
    expect([...cluster]).toEqual([
      ['a', ['http://127.0.0.1:1']],
      ['b', ['http://127.0.0.1:2']],
    ]);
  });
  it('refuses a cluster that it is not part of, and TLS', () => {
    expect(said(() => settings('--name', 'c', '--initial-cluster', 'a=http://127.0.0.1:1'))).toMatch(
      /^1 couldn't find local name "c"/,
    );
    expect(said(() => settings('--listen-client-urls', 'https://127.0.0.1:1'))).toMatch(
      /^1 a simulated member speaks plain HTTP/,
    );
  });
});

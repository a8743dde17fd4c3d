import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/commands/kv/commands.ts';
import { goDuration } from '../../../src/commands/kv/go-duration.ts';
import { prefixEnd } from '../../../src/commands/kv/keys.ts';
import { decimalLease } from '../../../src/commands/kv/lease.ts';
import { upgrade } from '../../../src/commands/kv/upgrade.ts';

describe('times as the tools of the store print them', () => {
  it.each([
    [2.257987, '2.257987ms'],
    [0.5123, '512.3µs'],
    [12, '12ms'],
    [1500, '1.5s'],
    [123_500, '2m3.5s'],
    [0, '0µs'],
  ])('%d ms is %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text);
  });
});

describe('the end of a prefix', () => {
  it.each([
    ['a/', 'a0'],
    ['a', 'b'],
    ['az', 'a{'],
    ['a\x7f', 'a\x80'],
    ['é', '\xc3\xaa'],
    ['ÿ', '\xc3\xc0'],
    ['', '\0'],
  ])('%j ends before the bytes %j', (prefix, end) => {
    expect(Buffer.from(prefixEnd(prefix)).toString('latin1')).toBe(end);
  });
});

describe('lease ids', () => {
  it.each([
    ['694d5765fc71500b', '7587817042727751691'],
    ['0x10', '16'],
    ['ffffffffffffffff', '-1'],
  ])('%s is %s on the wire', (id, decimal) => {
    expect(decimalLease(id)).toBe(decimal);
  });
  it.each(['', 'xyz', '11112222333344445', '-1'])('%j is refused with the rule', (id) => {
    expect(() => decimalLease(id)).toThrow(expect.objectContaining({ category: 'usage' }));
  });
});

describe('the commands of kv', () => {
  it('spec/store#interfaces: every one is there, each once', () => {
    const paths = commands.map(({ path }) => path.slice(1).join(' '));
    expect(paths).toEqual(
      expect.arrayContaining([
        ...[
          'status',
          'check',
          'plan',
          'upgrade',
          'resume',
          'abort',
          'rollback',
          'restore',
          'init',
          'health',
          'version',
        ],
        ...[
          'endpoint health',
          'endpoint status',
          'put',
          'get',
          'del',
          'lease timetolive',
          'lease list',
          'member list',
          'alarm list',
          'alarm disarm',
        ],
        ...[
          'snapshot save',
          'snapshot status',
          'snapshot verify',
          'move-leader',
          'config lint',
          'config migrate',
          'rehearse',
          'fleet',
          'report',
        ],
      ]),
    );
    expect(new Set(paths).size).toBe(paths.length);
  });
  it('no flag takes a password', () => {
    for (const { flags = {} } of commands) expect(Object.keys(flags)).not.toContain('password');
  });
  it('certificates and user are the same flags everywhere', () => {
    for (const { flags = {} } of commands.filter((command) => command.flags?.endpoints !== undefined))
      expect(Object.keys(flags)).toEqual(
        expect.arrayContaining(['cacert', 'cert', 'key', 'server-name', 'user', 'password-file']),
      );
  });
  it('--plan stands alone: what it decides cannot be given beside it', () => {
    expect(upgrade.check?.({ plan: 'x', to: '3.4', accept: ['a'] }).map(({ path }) => path)).toEqual([
      '--to',
      '--accept',
    ]);
    expect(upgrade.check?.({ to: '3.4' })).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/commands/kv/commands.ts';
import { report } from '../../../src/commands/kv/history.ts';
import { upgrade } from '../../../src/commands/kv/upgrade.ts';

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
  it('a report that is attached must be a file, which the check rejects before it writes', () => {
    const wrong = (out?: string) =>
      report.check?.({ attach: 107, ...(out === undefined ? {} : { out }) }).map(({ path }) => path);
    expect([wrong(), wrong('/dev/stdout'), wrong('/dev/fd/1'), wrong('r.html')]).toEqual([
      ...[['--out'], ['--out'], ['--out']],
      [],
    ]);
    expect(report.check?.({ out: '/dev/stdout' })).toEqual([]);
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
  it('--plan rejects flags whose values the plan already contains', () => {
    expect(upgrade.check?.({ plan: 'x', to: '3.4', accept: ['a'] }).map(({ path }) => path)).toEqual([
      '--to',
      '--accept',
    ]);
    expect(upgrade.check?.({ to: '3.4' })).toEqual([]);
  });
});

import { copyFileSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { slice } from '../support/slice.ts';
import { covers } from '../support/covers.ts';
import { errorOf } from '../support/facts.ts';

let home: string;
let dir: string;
beforeEach(() => {
  home = makeDirectory();
  dir = join(home, 'c');
});
afterEach(async () => {
  await opsctl(['mock', 'kv', 'stop', '--dir', dir, '--kill'], { home });
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', join(dir, 'cluster.yaml'), '-o', 'json'], { home });
const start = (...words: string[]) =>
  opsctl(['mock', 'kv', 'start', '--dir', dir, '--monitor-ms', '200', ...words, '-o', 'json'], { home });
const finding = (report: { findings: { guard: string; level: string }[] }) =>
  report.findings.filter(({ guard }) => guard === 'restore-possible').map(({ level }) => level);

describe('a simulated cluster after the point of no return', () => {
  it.each(
    slice(
      [
        { from: '3.2', versions: ['--version', '3.2.32', '--new-version', '3.3.27'], bump: 0 },
        { from: '3.5', versions: ['--version', '3.5.33', '--new-version', '3.6.14'], bump: 1_000_000_000 },
      ],
      1,
    ),
  )(
    'rolls back only by a restore: $from',
    covers('spec/store#versions-2', 'spec/store#versions-6'),
    async ({ from, versions, bump }) => {
      expect((await start('--members', '3', '--auth', ...versions)).code).toBe(0);
      await kv('put', 'a', 'before');
      expect(finding((await kv('check')).json())).toEqual(['pass']);
      const before = (await kv('status')).json().members[0];
      const fast = ['--stable-for', '0', '--stable-before-last', '0', '--yes', '--accept-point-of-no-return'];
      expect((await kv('upgrade', ...fast)).code).toBe(0);
      await kv('put', 'a', 'after');
      const back = await kv('rollback', '--yes');
      expect([back.code, errorOf(back).code]).toEqual([10, 'PAST_POINT_OF_NO_RETURN']);
      const plan = (await kv('restore', '--dry-run')).json();
      expect([plan.to, plan.bump_revision ?? 0]).toEqual([from, bump]);
      const done = await kv('restore', '--yes');
      expect(done.code === 0 ? '' : done.stderr).toBe('');
      expect(done.json().revision - plan.snapshot.revision).toBe(bump);
      const now = (await kv('get', 'a')).json();
      expect([now.value, now.mod_revision]).toEqual(['before', 2]);
      const { members } = (await kv('status')).json();
      expect(members.every((one: any) => one.server_version.startsWith(from) && one.is_healthy)).toBe(true);
      expect(members[0].cluster_id).not.toBe(before.cluster_id);
      if (bump > 0) {
        const watch = await kv('watch', 'a', '--rev', '2', '--timeout', '5s');
        expect(errorOf(watch).code).toBe('COMPACTED');
      }
    },
  );
  it('a missing ctl program is reported by check, and by the restore with its code', async () => {
    expect((await start('--members', '1')).code).toBe(0);
    const ctl = /ctl_binary: "(.*)"/.exec(readFileSync(join(dir, 'cluster.yaml'), 'utf8'))?.[1] as string;
    rmSync(ctl);
    expect(finding((await kv('check')).json())).toEqual(['warn']);
  });
  it('a file without a checksum needs its name: --yes does not accept it', async () => {
    expect((await start('--members', '1')).code).toBe(0);
    await kv('put', 'a', '1');
    const file = join(home, 'copy.db');
    const saved = join(home, 'saved.db');
    await kv('snapshot', 'save', saved);
    copyFileSync(saved, file);
    truncateSync(file, readFileSync(saved).length - 32);
    const words = ['restore', '--snapshot', file, '--to', '3.2', '--skip-hash-check', '--yes'];
    const refused = await kv(...words);
    expect([refused.code, refused.stderr.includes('--accept-unverified copy.db')]).toEqual([10, true]);
    const other = await kv(...words, '--accept-unverified', 'other.db');
    expect(other.code).toBe(2);
    expect((await kv('get', 'a')).json().value).toBe('1');
    const done = await kv(...words, '--accept-unverified', 'copy.db');
    expect(done.code === 0 ? '' : done.stderr).toBe('');
    expect((await kv('get', 'a')).json().value).toBe('1');
  });
});

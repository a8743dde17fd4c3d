import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { covers } from '../support/covers.ts';

const bin = process.env.OPSCTL_TEST_BIN ?? new URL('../../bin/opsctl.js', import.meta.url).pathname;
let home: Program;
beforeEach(() => {
  home = program();
  const at = (name: string): string => join(home.home, name);
  writeFileSync(at('alias-w.yaml'), 'labels: *x\n');
  writeFileSync(at('alias-c.yaml'), 'name: *x\n');
  symlinkSync('loop', at('loop'));
  symlinkSync('/dev/zero', at('zero'));
  execFileSync('mkfifo', [at('pipe')]);
});

describe('a known cause has its exit code and is never unexpected', covers('defect/D7-1'), () => {
  it.each<[string[], number, RegExp]>([
    [['tracker', 'diff', '-f', 'alias-w.yaml'], 2, /is not YAML:?\s.*alias/i],
    [['kv', 'check', '--cluster', 'alias-c.yaml'], 3, /is not YAML:?\s.*alias/i],
    [['kv', 'check', '--cluster', 'loop'], 2, /ELOOP/],
    [['tracker', 'diff', '-f', 'loop'], 2, /ELOOP/],
    [['tracker', 'diff', '-f', 'pipe'], 2, /neither a file nor a pipe/],
    [['tracker', 'bulk', '-f', 'pipe'], 2, /neither a file nor a pipe/],
    [['tracker', 'bulk', '-f', 'loop'], 2, /ELOOP/],
    [['kv', 'lease', 'list', '--cluster', 'a'.repeat(70_000)], 2, /ENAMETOOLONG/],
    [['tracker', 'labels', 'create', '--body', '@zero'], 2, /neither a file nor a pipe|too large/],
    [['mock', 'oauth', 'settings', 'get', '--url', '10'], 2, /--url/],
    [['labels', 'export', '--all', '-f', 'pipe'], 2, /pipe is not a directory/],
    [['mock', 'kv', 'start', '--dir', 'alias-w.yaml'], 2, /alias-w\.yaml is not a directory/],
    [['kv', 'snapshot', 'list', 'alias-w.yaml'], 2, /alias-w\.yaml is not a directory/],
    [['kv', 'snapshot', 'schedule', 'd', '--cluster', 'nothing.yaml'], 3, /cluster file not found/],
    [['tracker', 'bulk', '-f', 'alias-w.yaml', '--journal', 'alias-w.yaml'], 3, /bulk journal/],
  ])('%#', covers('defect/R-9'), async (args, code, message) => {
    const ended = await home.run(args);
    expect([ended.code, ended.stdout], ended.stderr.slice(0, 500)).toEqual([code, '']);
    expect(ended.stderr).toMatch(message);
    expect(ended.stderr).not.toContain('unexpected');
    expect(ended.stderr.length).toBeLessThan(3000);
  });
  it('TAB and a start wait for no pipe in place of a kept file', covers('defect/D8-4'), async () => {
    const config = join(home.home, 'config');
    mkdirSync(config, { recursive: true, mode: 0o700 });
    execFileSync('mkfifo', [join(config, 'config.json')]);
    const { code, stdout } = await home.run(['__complete', 'config', 'list', '--profile', '']);
    expect([code, stdout]).toEqual([0, 'mock\n']);
  });
  it('a pipe of the shell is a file like any other', () => {
    const script = `"$NODE" "$BIN" tracker diff -f <(printf 'labels:\\n  - name: x\\n') -o json`;
    const env = { ...process.env, NODE: process.execPath, BIN: bin, OPSCTL_HOME: home.home };
    const done = spawnSync('bash', ['-c', script], { encoding: 'utf8', env });
    expect([done.status, done.stderr.includes('neither')]).toEqual([20, false]);
  });
});

/** One file without Node.js, npm or other files: the jobs of the product, and all functions that start this program again. */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cachedNode } from '../tooling/nodes.mjs';
import { sha256 } from '../tooling/artifacts.mjs';
import { nodeOfExecutables, singleExecutable } from '../tooling/single-executable.mjs';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
const node = cachedNode(nodeOfExecutables);
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };

describe.skipIf(node === undefined)('single executable', () => {
  let work = '';
  let program = '';
  beforeAll(async () => {
    work = makeDirectory();
    program = join(work, 'opsctl');
    await singleExecutable({ dist: `${root}dist`, node: node ?? '', to: program });
  });

  test('the same build gives the same bytes', async () => {
    const again = join(work, 'again');
    await singleExecutable({ dist: `${root}dist`, node: node ?? '', to: again });
    expect(sha256(again)).toBe(sha256(program));
    rmSync(again);
  });

  /** PATH contains no Node.js. */
  const run = (args: readonly string[], home = makeDirectory('home-', work)) => {
    const { LD_LIBRARY_PATH } = process.env;
    const env = {
      ...{ PATH: '/usr/bin:/bin', HOME: home, OPSCTL_HOME: home, NO_COLOR: '1', LANG: 'C.UTF-8' },
      ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }),
    };
    return spawnSync(program, args, { cwd: home, encoding: 'utf8', env, timeout: 300_000, input: '' });
  };
  const good = (args: readonly string[], home?: string): string => {
    const { status, stdout, stderr } = run(args, home);
    expect(status, `opsctl ${args.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
    // Node.js accepts the code cache. It prints a warning if it rejects the cache.
    expect(stderr).not.toMatch(/code cache/i);
    return stdout;
  };

  test('the executable requires only libraries of glibc and those that docs/install.md names', ({ skip }) => {
    const { stdout, error } = spawnSync('ldd', [program], { encoding: 'utf8' });
    if (error !== undefined) return skip('no ldd');
    const libraries = [...stdout.matchAll(/^\s*(\S+\.so\.\d+) =>/gm)].map(([, name = '']) => name);
    const named = readFileSync(`${root}docs/install.md`, 'utf8');
    const ofGlibc = /^lib(c|dl|m|pthread|gcc_s)\.so/;
    expect(libraries.filter((name) => !ofGlibc.test(name) && !named.includes(`\`${name}\``))).toEqual([]);
  });

  test('version, help, TAB and explanations come from inside', () => {
    expect(good(['--version']).trim()).toBe(version);
    expect(good([])).toBe(readFileSync(`${root}dist/help.txt`, 'utf8'));
    expect(good(['__complete', 'tracker', 'labels', 'cr'])).toBe('create\n');
    expect(good(['__complete', 'explain', 'quorum-s'])).toBe('quorum-survives\n');
    expect(good(['explain', 'quorum-survives', '-o', 'json'])).toContain('Guard quorum-survives');
    expect(good(['completion', 'zsh'])).toContain('#compdef opsctl');
    const wrong = run(['--no-such-flag']);
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
  });

  test('the single executable supports a record, a filter in a separate thread, a sign-in and a token', () => {
    const home = makeDirectory('home-', work);
    expect(good(['tracker', 'labels', 'create', '--name', 'packed', '--jq', '.name'], home).trim()).toBe(
      'packed',
    );
    good(['login', '-o', 'json'], home);
    expect(good(['auth', 'token'], home)).toMatch(/^\S{20,}\n$/);
  });

  test('the tour: all three jobs, with servers and members that it starts itself', () => {
    good(['tour']);
  });

  test('a server in the background, a rehearsal and a fleet', () => {
    const home = makeDirectory('home-', work);
    good(['mock', 'start'], home);
    good(['mock', 'stop'], home);
    const cluster = join(home, 'c/cluster.yaml');
    good(['mock', 'kv', 'start', '--dir', 'c'], home);
    try {
      good(['kv', 'rehearse', '--cluster', cluster, '--yes'], home);
      writeFileSync(join(home, 'fleet.yaml'), 'clusters:\n  - c/cluster.yaml\n');
      good(['kv', 'fleet', 'fleet.yaml', '--yes', '--accept-point-of-no-return'], home);
    } finally {
      run(['mock', 'kv', 'stop', '--dir', 'c'], home);
    }
  });
});

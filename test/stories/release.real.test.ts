/** A release in a temporary repository: its refusals, its dry run, its files, and the result of each file in its own tool. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeSigningKey } from '../support/signing-key.ts';
import { isTurn, testInTurn } from '../support/slice.ts';
import { missingTool } from '../support/tools.ts';
import { artifactNames, install, sha256 } from '../tooling/artifacts.mjs';
import { parseSecretKey, signChecksums } from '../tooling/signature.mjs';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
const work = makeDirectory();

const author = ['-c', 'user.name=A. Packager', '-c', 'user.email=packager@debian.org'];
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(OPSCTL_|XDG_|CI$|npm_|NODE_|GIT_|DEB|SOURCE_DATE)/.test(name),
    ),
  ),
  ...{ HOME: work, OPSCTL_HOME: join(work, 'home'), NO_COLOR: '1', GIT_CONFIG_NOSYSTEM: '1' },
  ...{ GIT_AUTHOR_NAME: 'A. Packager', GIT_AUTHOR_EMAIL: 'packager@debian.org' },
  ...{ GIT_COMMITTER_NAME: 'A. Packager', GIT_COMMITTER_EMAIL: 'packager@debian.org' },
  GIT_AUTHOR_DATE: '2026-11-30T12:00:00Z',
  GIT_COMMITTER_DATE: '2026-11-30T12:00:00Z',
  // No registry responds: a release does not depend on its advisories of today, and npm does not wait for it.
  ...{ npm_config_registry: 'http://127.0.0.1:9', npm_config_fetch_retries: '0' },
};
const git = (at: string, ...args: string[]) =>
  execFileSync('git', [...author, ...args], { cwd: at, encoding: 'utf8', env: environment }).trim();

/** A repository with the files of this checkout, on main, with one commit. */
const repository = (name: string): string => {
  const to = join(work, name);
  const left = new Set(['node_modules', 'dist', 'release', 'coverage', '.git', '.cache']);
  cpSync(root, to, {
    recursive: true,
    filter: (source) =>
      !source
        .replace(root, '')
        .split('/')
        .some((part) => left.has(part)),
  });
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'));
  // `node_modules/` in .gitignore matches a directory, but here it is a link.
  writeFileSync(join(to, '.git-exclude'), 'node_modules\n.git-exclude\n');
  git(to, 'init', '--quiet', '--initial-branch', 'main');
  git(to, 'config', 'core.excludesFile', join(to, '.git-exclude'));
  git(to, 'add', '--all');
  git(to, 'commit', '--quiet', '--message', 'start');
  return to;
};
const runRelease = (at: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync('npm', ['run', '--silent', 'release', '--', ...args], {
    cwd: at,
    encoding: 'utf8',
    env: { ...environment, ...env },
    maxBuffer: 1 << 26,
  });
const release = (at: string, ...args: string[]) => runRelease(at, args);
/** The same without npm, whose start takes longer than a refusal. */
const refuse = (at: string, ...args: string[]) =>
  spawnSync(process.execPath, ['test/tooling/release.mjs', ...args], {
    cwd: at,
    encoding: 'utf8',
    env: environment,
  });
const stateOf = (at: string) => [
  git(at, 'rev-parse', 'HEAD'),
  git(at, 'status', '--porcelain'),
  git(at, 'tag', '--list'),
  existsSync(join(at, 'release')),
];
const read = (path: string) => readFileSync(path, 'utf8');
const { version: current } = JSON.parse(read(join(root, 'package.json'))) as { version: string };
const next = '98.7.6';
const skipped = ['executable', ...(missingTool('rpmbuild') === undefined ? [] : ['rpm'])];
const flags = [
  ...skipped.flatMap((part) => ['--skip', part]),
  ...['--date', '2026-01-15', '--url', 'https://downloads.example/opsctl/v98.7.6'],
];

const signing = makeSigningKey();
let one: string;
beforeAll(() => {
  one = repository('one');
  writeFileSync(join(one, 'minisign.pub'), signing.publicText);
  git(one, 'add', '--all');
  git(one, 'commit', '--quiet', '--message', 'key');
}, 600_000);

describe('conditions of a release', () => {
  let before: unknown[];
  beforeEach(() => {
    before = stateOf(one);
  });

  test('a dry run shows every step and makes no changes', () => {
    const { status, stdout, stderr } = release(one, 'minor', '--dry-run', '--date', '2026-01-15');
    expect(status, stderr).toBe(0);
    const [major, minor] = current.split('.').map(Number);
    const version = `${major}.${(minor as number) + 1}.0`;
    for (const text of [
      `package-lock.json: ${current} → ${version}`,
      `becomes "[${version}] - 2026-01-15"`,
      `release: opsctl ${version}`,
      ...artifactNames(version),
      'SHA256SUMS',
      'commit "release: start the next version"',
      `v${version}`,
    ])
      expect(stdout).toContain(text);
    expect(stateOf(one)).toEqual(before);
  });

  test('npm run release minor --dry-run without the two dashes is a dry run as well', () => {
    const { status } = spawnSync('npm', ['run', '--silent', 'release', 'minor', '--dry-run'], {
      cwd: one,
      env: environment,
    });
    expect([status, stateOf(one)]).toEqual([0, before]);
  });

  type Row = readonly [name: string, prepare: () => void, undo: () => void, problem: RegExp, way: RegExp];
  const changelog = (change: (text: string) => string) => () => {
    const path = join(one, 'CHANGELOG.md');
    writeFileSync(path, change(read(path)));
    git(one, 'commit', '--quiet', '--all', '--message', 'change');
  };
  const undoCommit = () => git(one, 'reset', '--quiet', '--hard', 'HEAD~1');
  const rows: readonly Row[] = [
    [
      'a changed file',
      () => writeFileSync(join(one, 'README.md'), 'changed'),
      () => git(one, 'checkout', '--quiet', '--', 'README.md'),
      /work tree has uncommitted changes: README\.md/,
      /git stash/,
    ],
    [
      'a new file',
      () => writeFileSync(join(one, 'new.txt'), 'new'),
      () => rmSync(join(one, 'new.txt')),
      /uncommitted changes: new\.txt/,
      /git stash --include-untracked/,
    ],
    [
      'another branch',
      () => git(one, 'switch', '--quiet', '--create', 'work'),
      () => git(one, 'switch', '--quiet', 'main'),
      /current branch is "work", not main/,
      /git switch main/,
    ],
    [
      'a detached commit',
      () => git(one, 'switch', '--quiet', '--detach'),
      () => git(one, 'switch', '--quiet', 'main'),
      /detached HEAD/,
      /git switch main/,
    ],
    [
      'a tag of this version',
      () => git(one, 'tag', `v${next}`),
      () => git(one, 'tag', '--delete', `v${next}`),
      /tag v98\.7\.6 exists/,
      /higher version/,
    ],
    [
      'no section Unreleased',
      changelog((text) => text.replace('## Unreleased', '## Later')),
      undoCommit,
      /no section "Unreleased"/,
      /add the heading/,
    ],
    [
      'an empty section Unreleased',
      changelog(() => '# Changelog\n\n## Unreleased\n'),
      undoCommit,
      /has no entries/,
      /git log/,
    ],
    [
      'a directory that is not of a release',
      () => {
        mkdirSync(join(work, 'precious'));
        writeFileSync(join(work, 'precious/file'), '');
      },
      () => rmSync(join(work, 'precious'), { recursive: true }),
      /precious is not empty/,
      /another directory/,
    ],
  ];
  test.each(rows)(
    '%s prevents the release, and the error names the fix',
    (_, prepare, undo, problem, way) => {
      prepare();
      try {
        const at = stateOf(one);
        const { status, stderr } = refuse(one, next, '--to', join(work, 'precious'), ...flags);
        expect([status, stderr]).toEqual([1, expect.stringMatching(problem)]);
        expect(stderr).toMatch(way);
        expect(stderr).toContain('no changes were made');
        expect(stateOf(one)).toEqual(at);
        // A dry run shows the same problems.
        expect(refuse(one, next, '--dry-run', '--to', join(work, 'precious'), ...flags)).toMatchObject({
          status: 1,
          stderr: expect.stringMatching(problem),
        });
      } finally {
        undo();
      }
      expect(stateOf(one)).toEqual(before);
    },
  );

  // Each of three tests makes one more whole release, so half of the runs try one of them.
  testInTurn(0, 6)('a release that fails in the middle leaves the repository unchanged', () => {
    const path = join(one, 'nfpm.yaml');
    writeFileSync(path, read(path).replace('src: bin,', 'src: gone,'));
    git(one, 'commit', '--quiet', '--all', '--message', 'break');
    const at = stateOf(one);
    const { status, stderr } = release(one, next, '--to', join(work, 'broken'), ...flags);
    expect([status, stderr]).toEqual([1, expect.stringContaining('the release was undone')]);
    expect(stateOf(one)).toEqual(at);
    expect(existsSync(join(work, 'broken'))).toBe(false);
    undoCommit();
  });

  testInTurn(2, 6)('a release that fails in its last step leaves no file, no commit and no tag', () => {
    const hook = join(one, '.git/hooks/reference-transaction');
    mkdirSync(join(one, '.git/hooks'), { recursive: true });
    writeFileSync(hook, '#!/bin/sh\n[ "$1" != prepared ] || ! grep -q refs/tags/\n', { mode: 0o755 });
    try {
      const parts = ['deb', 'rpm', 'apk', 'executable'].flatMap((part) => ['--skip', part]);
      const { status, stdout, stderr } = release(one, next, ...parts, '--date', '2026-01-15');
      expect([status, stderr]).toEqual([1, expect.stringContaining('the release was undone')]);
      expect(stdout).toMatch(/^\[9\/9\] Tag the commit of the release/m);
    } finally {
      rmSync(hook);
    }
    expect(stateOf(one)).toEqual(before);
  });
});

describe('a release', () => {
  /** The files of the tag, as `uses: …@v98.7.6` has them. */
  const tagged = join(work, 'tagged');
  const files = join(work, 'files');
  const at = (name: string) => join(files, name);
  /** Programs that the release starts, in front of the real ones. They record their arguments and their environment. */
  const recorded = join(work, 'recorded');
  const recorders = join(work, 'recorders');
  beforeAll(() => {
    mkdirSync(recorders);
    for (const name of ['npm', 'git', 'tar', 'dpkg-deb', 'node']) {
      const real = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      const script = `#!/bin/sh\n{ printf '%s\\n' "$0" "$@"; env; } >> '${recorded}'\nexec '${real}' "$@"\n`;
      writeFileSync(join(recorders, name), script, { mode: 0o755 });
    }
    const path = `${recorders}:${process.env.PATH}`;
    const secret = join(work, 'release.key');
    writeFileSync(secret, signing.secretText, { mode: 0o600 });
    const args = [next, '--to', files, '--signing-key', secret, ...flags];
    const env = { PATH: path, RELEASE_SIGNING_PASSWORD: 'not needed for this key' };
    const { status, stdout, stderr } = runRelease(one, args, env);
    expect(status, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toMatch(/Released opsctl 98\.7\.6, signed with the key [0-9A-F]{16}\./);
    execFileSync('git', ['clone', '--quiet', '--branch', `v${next}`, one, tagged], { env: environment });
  }, 900_000);
  const tarball = `opsctl-${next}.tgz`;
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { encoding: 'utf8', env: { ...environment, PATH: process.env.PATH } });

  test('raises the version, closes the changelog, commits and tags', () => {
    expect(JSON.parse(read(join(one, 'package.json'))).version).toBe(next);
    const lock = JSON.parse(read(join(one, 'package-lock.json')));
    expect([lock.version, lock.packages[''].version]).toEqual([next, next]);
    expect(read(join(one, 'CHANGELOG.md'))).toMatch(/^## Unreleased\n\n## \[98\.7\.6\] - 2026-01-15\n/m);
    expect(git(one, 'log', '-2', '--format=%s').split('\n')).toEqual([
      'release: start the next version',
      `release: opsctl ${next}`,
    ]);
    expect(git(one, 'rev-parse', `v${next}^{commit}`)).toBe(git(one, 'rev-parse', 'HEAD~1'));
    expect(git(one, 'cat-file', '-t', `v${next}`)).toBe('tag');
    expect(git(one, 'status', '--porcelain')).toBe('');
    expect(read(at('RELEASE-NOTES.md'))).toMatch(/^(###|-) /);
  });

  test('writes every file that the dry run names, and their checksums', () => {
    const names = artifactNames(next, skipped);
    expect(readdirSync(files).sort()).toEqual([...names, 'SHA256SUMS', 'SHA256SUMS.minisig'].sort());
    const { status, stdout } = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
      cwd: files,
      encoding: 'utf8',
    });
    expect([status, stdout.match(/: OK$/gm)]).toEqual([0, expect.objectContaining({ length: names.length })]);
  });

  test('signs the checksums so that minisign verifies them', ({ skip }) => {
    const missing = missingTool('minisign', ['-v']);
    if (missing !== undefined) skip(missing);
    const verify = (...args: string[]) => run('minisign', '-V', '-m', at('SHA256SUMS'), ...args);
    const verified = verify('-p', join(one, 'minisign.pub'));
    expect([verified.status, verified.stdout], verified.stderr).toEqual([
      0,
      `Signature and comment signature verified\nTrusted comment: opsctl ${next} file:SHA256SUMS\n`,
    ]);
    expect(verify('-H', '-P', signing.publicKey).status).toBe(0);
    expect(verify('-P', makeSigningKey().publicKey).status).not.toBe(0);
  });

  test('contains the signing key in no file, and no program gets it as an argument or a variable', () => {
    const secret = signing.secretText.split('\n')[1] as string;
    const texts = [
      recorded,
      ...readdirSync(files).map((name) => at(name)),
      ...git(one, 'ls-files')
        .split('\n')
        .map((name) => join(one, name)),
    ];
    for (const path of texts) expect(readFileSync(path).includes(secret), path).toBe(false);
    // npm starts the release script with the environment of the maintainer. No program that the script starts gets the password.
    const records = read(recorded).split(`${recorders}/`).slice(1);
    const script = records.findIndex((each) => each.startsWith('node\ntest/tooling/release.mjs\n'));
    expect(records[script]).toContain('RELEASE_SIGNING_PASSWORD=');
    const started = records.slice(script + 1);
    expect(started.length).toBeGreaterThan(5);
    expect(started.filter((each) => each.includes('RELEASE_SIGNING_PASSWORD='))).toEqual([]);
  });

  describe('version --verify of the installed release', () => {
    let program: string;
    beforeAll(() => {
      program = install(at(tarball), join(work, 'verified'));
    }, 600_000);
    const verify = (sums: string, ...args: string[]) =>
      run(process.execPath, program, 'version', '--verify', '--checksums', sums, '-o', 'json', ...args);
    /** A copy of the signed list and its signature, with a change. */
    const copyWith = (
      name: string,
      change: (sums: string, signature: string) => readonly [string, string?],
    ) => {
      const directory = join(work, 'sums', name);
      mkdirSync(directory, { recursive: true });
      const [sums, signature] = change(read(at('SHA256SUMS')), read(at('SHA256SUMS.minisig')));
      writeFileSync(join(directory, 'SHA256SUMS'), sums);
      if (signature !== undefined) writeFileSync(join(directory, 'SHA256SUMS.minisig'), signature);
      return join(directory, 'SHA256SUMS');
    };

    test('accepts the installation with the key in the program, a key, and the file of a key', () => {
      for (const args of [
        [],
        ['--public-key', signing.publicKey],
        ['--public-key', join(one, 'minisign.pub')],
      ]) {
        const { status, stdout, stderr } = verify(at('SHA256SUMS'), ...args);
        expect([status, JSON.parse(stdout || '{}')], stderr).toMatchObject([
          0,
          {
            is_intact: true,
            signature: {
              is_of_release: true,
              release_file: `opsctl-${next}.files.sha256`,
              trusted_comment: `opsctl ${next} file:SHA256SUMS`,
            },
          },
        ]);
      }
    });

    test('accepts the signature of minisign itself', ({ skip }) => {
      const missing = missingTool('minisign', ['-v']);
      if (missing !== undefined) skip(missing);
      const [secret, publicFile] = [join(work, 'their.key'), join(work, 'their.pub')];
      expect(run('minisign', '-G', '-W', '-p', publicFile, '-s', secret).status).toBe(0);
      for (const [name, form] of [
        ['new', []],
        ['old', ['-l']],
      ] as const) {
        const sums = copyWith(name, (text) => [text]);
        expect(run('minisign', '-S', ...form, '-s', secret, '-m', sums, '-t', `form ${name}`).status).toBe(0);
        const { status, stdout } = verify(sums, '--public-key', publicFile);
        expect([status, JSON.parse(stdout || '{}').signature?.trusted_comment]).toEqual([0, `form ${name}`]);
        // The program contains the other key.
        expect(verify(sums)).toMatchObject({
          status: 10,
          stderr: expect.stringContaining('SIGNATURE_INVALID'),
        });
      }
    });

    test.each<[string, () => string, number, RegExp]>([
      [
        'a changed list',
        () => copyWith('changed', (a, b) => [a.replace(/^./, '0x'), b]),
        10,
        /SIGNATURE_INVALID/,
      ],
      ['a list without a signature', () => copyWith('bare', (a) => [a]), 3, /SHA256SUMS\.minisig not found/],
      [
        'a signature of another file',
        () => copyWith('other', () => ['', read(at('SHA256SUMS.minisig'))]),
        10,
        /did not sign/,
      ],
      ['no list', () => join(work, 'nowhere/SHA256SUMS'), 3, /not found/],
    ])('rejects %s', (_, sums, code, problem) => {
      expect(verify(sums())).toMatchObject({
        status: code,
        stdout: '',
        stderr: expect.stringMatching(problem),
      });
    });

    test('rejects the signed list of another version, and files that are not those of the release', () => {
      const key = parseSecretKey(signing.secretText);
      const signed = (name: string, change: (sums: string) => string) =>
        copyWith(name, (sums) => [change(sums), signChecksums(key, Buffer.from(change(sums)), next)]);
      const old = signed('version', (sums) => sums.replaceAll(next, '98.7.5'));
      expect(verify(old)).toMatchObject({
        status: 3,
        stderr: expect.stringContaining('belongs to opsctl 98.7.5'),
      });
      const changed = signed('files', (sums) =>
        sums.replace(/^\w{64}(?=.*\.files\.sha256$)/m, 'a'.repeat(64)),
      );
      const { status, stdout } = verify(changed);
      expect([status, JSON.parse(stdout).signature.is_of_release]).toEqual([20, false]);
    });

    test('an installation whose list was replaced together with its files is not of the release', () => {
      const copy = join(work, 'replaced');
      cpSync(join(program, '../..'), copy, { recursive: true });
      const path = join(copy, 'dist/help.txt');
      writeFileSync(path, 'changed by a stranger');
      const list = join(copy, 'dist/SHA256SUMS');
      writeFileSync(list, read(list).replace(/^\w{64}(?= {2}dist\/help\.txt$)/m, sha256(path)));
      const own = run(process.execPath, join(copy, 'bin/opsctl.js'), 'version', '--verify');
      expect(own.status).toBe(0);
      const args = ['version', '--verify', '--checksums', at('SHA256SUMS')];
      const found = run(process.execPath, join(copy, 'bin/opsctl.js'), ...args);
      expect([found.status, JSON.parse(found.stdout)]).toMatchObject([
        20,
        { changed: [], is_intact: false, signature: { is_of_release: false } },
      ]);
    });
  });

  describe('action.yml of the release, with node as the only program on PATH', () => {
    type Action = {
      readonly inputs: { readonly package: { readonly default: string } };
      readonly runs: { readonly steps: { run: string; env: Record<string, string>; shell: string }[] };
    };
    const actionAt = (directory: string): Action => parse(read(join(directory, 'action.yml')));
    type Env = Readonly<Record<string, string>>;
    /** Runs the published steps as a runner does. `change` changes the environment of a step. */
    const runAction = (name: string, change: (env: Env) => Env) => {
      const home = join(work, 'action', name);
      const bin = join(home, 'bin');
      mkdirSync(bin, { recursive: true });
      for (const program of ['node', 'npm']) {
        const real = execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
        symlinkSync(real, join(bin, program));
      }
      const outputs = join(home, 'outputs');
      const done = actionAt(tagged).runs.steps.map(({ run: script, env, shell }, index) => {
        expect(shell).toBe('bash');
        const inputs: Env = index === 0 ? { PACKAGE: '' } : { ARGUMENTS: 'version --verify\n-o json' };
        return spawnSync('/bin/bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
          cwd: home,
          encoding: 'utf8',
          env: {
            ...change({ ...env, ...inputs }),
            ...{ HOME: home, PATH: `${bin}:${join(home, 'npm/bin')}`, RUNNER_TEMP: home },
            ...{ GITHUB_ACTION_PATH: tagged, GITHUB_OUTPUT: outputs, GITHUB_ACTIONS: 'true' },
            // No registry is reachable: the action needs none.
            ...{ npm_config_prefix: join(home, 'npm'), npm_config_offline: 'true' },
            npm_config_cache: join(home, 'cache'),
          },
        });
      });
      return { home, done, outputs: existsSync(outputs) ? read(outputs) : '' };
    };
    const here = { RELEASE_URL: pathToFileURL(files).href };

    test('names the archive of its own version with its checksum, and no package of a registry', () => {
      for (const directory of [root, one])
        expect(actionAt(directory).runs.steps[0]?.env).toMatchObject({ RELEASE_URL: '', RELEASE_SHA256: '' });
      expect(actionAt(tagged).runs.steps[0]?.env).toEqual({
        PACKAGE: '${{ inputs.package }}',
        RELEASE_URL: 'https://downloads.example/opsctl/v98.7.6',
        RELEASE_SHA256: sha256(at(tarball)),
      });
      expect(actionAt(tagged).inputs.package.default).toBe('');
    });

    test('installs and runs the archive of the release', () => {
      const { done, outputs } = runAction('good', (env) => ({ ...env, ...here }));
      const codes = done.map(({ status }) => status);
      expect(codes, done.map(({ stdout, stderr }) => stdout + stderr).join('')).toEqual([0, 0]);
      expect(JSON.parse(done[1]?.stdout ?? '')).toMatchObject({ version: next, is_intact: true });
      expect(outputs).toBe('exit-code=0\n');
    });

    test.each<[string, (env: Env) => Env, RegExp]>([
      [
        'another archive',
        (env) => {
          const directory = join(work, 'action-changed');
          mkdirSync(directory, { recursive: true });
          writeFileSync(
            join(directory, tarball),
            Buffer.concat([readFileSync(at(tarball)), Buffer.from('x')]),
          );
          return { ...env, RELEASE_URL: pathToFileURL(directory).href };
        },
        /^::error title=opsctl::checksum mismatch of file:.*; nothing was installed\n$/,
      ],
      [
        'another checksum',
        (env) => ({ ...env, ...here, RELEASE_SHA256: 'a'.repeat(64) }),
        /checksum mismatch/,
      ],
      [
        'a missing archive',
        (env) => ({ ...env, RELEASE_URL: 'file:///nowhere' }),
        /^::error .*cannot download/,
      ],
      [
        'an address without encryption',
        (env) => ({ ...env, RELEASE_URL: 'http://example.com' }),
        /must use https/,
      ],
    ])('refuses %s and installs nothing', (name, change, problem) => {
      const { home, done } = runAction(name, change);
      expect([done[0]?.status, done[0]?.stdout], done[0]?.stderr).toEqual([
        1,
        expect.stringMatching(problem),
      ]);
      expect(existsSync(join(home, 'npm'))).toBe(false);
    });
  });

  test('states commit, lock file and the digest of each file in the provenance', () => {
    const { subject, predicate } = JSON.parse(read(at('provenance.json')));
    for (const { name, digest } of subject) expect(digest.sha256, name).toBe(sha256(at(name)));
    expect(subject.map(({ name }: { name: string }) => name)).toEqual(
      artifactNames(next, skipped).filter((name) => name !== 'provenance.json'),
    );
    expect(predicate.buildDefinition.resolvedDependencies).toEqual([
      { name: 'source', digest: { gitCommit: git(tagged, 'rev-parse', 'HEAD') } },
      { name: 'package-lock.json', digest: { sha256: sha256(join(one, 'package-lock.json')) } },
    ]);
  });

  // test/stories/packed.real.test.ts compares two builds of the npm package in every run.
  testInTurn(4, 6)('gives the same bytes when another person builds the tag in another directory', () => {
    const two = join(work, 'two');
    execFileSync('git', ['clone', '--quiet', '--branch', `v${next}`, one, two], { env: environment });
    symlinkSync(join(root, 'node_modules'), join(two, 'node_modules'));
    const again = join(work, 'again');
    const ran = release(
      two,
      '--to',
      again,
      ...flags.filter((_, index) => index < flags.length - 4),
      ...flags.slice(-2),
    );
    expect(ran.status, ran.stderr).toBe(0);
    for (const name of artifactNames(next, skipped).filter((each) => each !== 'provenance.json'))
      expect(sha256(join(again, name)), name).toBe(sha256(at(name)));
  });

  test('a release has an SBOM that is valid by its schema and names the release', async () => {
    const text = read(at('sbom.cdx.json'));
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
    expect(JSON.parse(text).metadata).toMatchObject({
      timestamp: '2026-01-15T00:00:00.000Z',
      component: { version: next },
    });
  });

  test('a release has a Debian package that lintian accepts and dpkg installs', ({ skip }) => {
    const missing = missingTool('lintian');
    if (missing !== undefined) skip(missing);
    const path = at(`opsctl_${next}_all.deb`);
    // lintian formats each of 480 manual pages, which takes most of its time. The other runs leave the pages to mandoc.
    const without = isTurn(1, 6) ? [] : ['--dont-check-part', 'documentation/manual'];
    const checked = run('lintian', ...without, '--fail-on', 'error,warning', path);
    expect([checked.status, checked.stdout]).toEqual([0, '']);
    const unpacked = join(work, 'deb');
    run('dpkg-deb', '-x', path, unpacked);
    expect(run(join(unpacked, 'usr/bin/opsctl'), '--version').stdout).toBe(`${next}\n`);
  });

  test('a release has an RPM package that rpm verifies, installs and removes', ({ skip }) => {
    const missing = missingTool('rpmbuild') ?? missingTool('rpm');
    if (missing !== undefined) skip(missing);
    const path = at(`opsctl-${next}-1.noarch.rpm`);
    expect(run('rpm', '-K', path).stdout).toContain('digests OK');
    const system = join(work, 'rpm');
    mkdirSync(system);
    const options = ['--root', system, '--nodeps'];
    const installed = run('rpm', '-i', ...options, path);
    expect(installed.status, installed.stderr).toBe(0);
    const program = join(system, 'usr/bin/opsctl');
    expect(run(program, '--version').stdout).toBe(`${next}\n`);
    expect(run(program, 'tracker', 'labels', 'list', '-o', 'json').stdout).toContain('onboarding');
    expect(run('rpm', '-e', ...options, 'opsctl').status).toBe(0);
  });

  test('a release has an Alpine package whose program runs', () => {
    const unpacked = join(work, 'apk');
    mkdirSync(unpacked);
    run('tar', '-xzf', at(`opsctl-${next}-r0.apk`), '-C', unpacked, '--warning=no-unknown-keyword');
    expect(run(join(unpacked, 'usr/bin/opsctl'), '--version').stdout).toBe(`${next}\n`);
  });

  test('a release has an installer that installs below a prefix, replaces itself and removes every file', () => {
    const prefix = join(work, 'prefix');
    const sh = (...args: string[]) => run('sh', at('install.sh'), '--prefix', prefix, ...args);
    for (const _ of ['first', 'again']) {
      const installed = sh('--from', files);
      expect([installed.status, installed.stdout], installed.stderr).toEqual([
        0,
        expect.stringContaining(`Installed opsctl ${next} into ${prefix}`),
      ]);
    }
    expect(run(join(prefix, 'bin/opsctl'), '--version').stdout).toBe(`${next}\n`);
    expect(read(join(prefix, 'share/man/man1/opsctl.1'))).toContain(next);
    expect(read(join(prefix, 'share/bash-completion/completions/opsctl'))).toContain('opsctl');
    expect(sh('--uninstall').status).toBe(0);
    const left = readdirSync(prefix, { recursive: true, withFileTypes: true }).filter(
      (entry) => !entry.isDirectory(),
    );
    expect(left.map(({ name }) => name)).toEqual([]);
    expect(sh('--uninstall')).toMatchObject({ status: 1, stderr: expect.stringContaining('not installed') });
  });

  test('a release has an installer that rejects a changed package without installing it', () => {
    const changed = join(work, 'changed');
    mkdirSync(changed);
    writeFileSync(join(changed, tarball), Buffer.concat([readFileSync(at(tarball)), Buffer.from('x')]));
    const prefix = join(work, 'unchanged');
    const { status, stderr } = run('sh', at('install.sh'), '--prefix', prefix, '--from', changed);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/checksum mismatch .*\n {2}try: /)]);
    expect(existsSync(prefix)).toBe(false);
  });

  test.each([
    ['a relative prefix', ['--prefix', 'here'], /must be an absolute path/],
    ['an unknown argument', ['--force'], /unknown argument: --force/],
    ['a prefix without a value', ['--prefix'], /--prefix requires a value/],
    [
      'an address without encryption',
      ['--prefix', '/nowhere/x', '--from', 'http://example.com'],
      /must be an https URL/,
    ],
    [
      'a missing directory',
      ['--prefix', '/nowhere/x', '--from', '/nowhere'],
      /cannot read \/nowhere\/opsctl-/,
    ],
  ])('a release has an installer that rejects %s', (_, args, problem) => {
    expect(run('sh', at('install.sh'), ...args)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(problem),
    });
  });

  test('a release has an installer without complaints of shellcheck', ({ skip }) => {
    const missing = missingTool('shellcheck');
    if (missing !== undefined) skip(missing);
    expect(run('shellcheck', at('install.sh')).stdout).toBe('');
  });

  test('a release has a Homebrew formula with URL, checksum and a test that passes', ({ skip }) => {
    const missing = missingTool('ruby');
    if (missing !== undefined) skip(missing);
    const bin = join(work, 'formula/usr/bin');
    run('dpkg-deb', '-x', at(`opsctl_${next}_all.deb`), join(work, 'formula'));
    // The part of Homebrew that a formula uses, limited to its metadata and its test.
    const harness = `
class Formula
  class << self
    %i[desc homepage url sha256 license].each { |name| define_method(name) { |value| facts[name] = value } }
    def facts = @facts ||= {}
    def depends_on(name) = facts[:depends_on] = name
    def test(&block) = define_method(:run_test, &block)
  end
  def version = ${JSON.stringify(next)}
  def bin = ${JSON.stringify(bin)}
  def shell_output(line) = IO.popen(line, &:read).tap { raise line unless $?.success? }
  def assert_match(expected, text) = text.match?(Regexp.escape(expected)) || raise("#{expected} is missing")
end
load ${JSON.stringify(at('opsctl.rb'))}
require "json"
Opsctl.new.run_test
puts JSON.generate(Opsctl.facts)`;
    const { stdout, stderr } = run('ruby', '-e', harness);
    const facts = JSON.parse(stdout || `{"error":${JSON.stringify(stderr)}}`);
    expect(facts).toEqual({
      desc: expect.stringMatching(/^(?!An? |The )[A-Z].{20,78}[^.]$/),
      homepage: expect.stringMatching(/^https:\/\//),
      url: `https://downloads.example/opsctl/v98.7.6/${tarball}`,
      sha256: sha256(at(tarball)),
      license: 'MIT',
      depends_on: 'node',
    });
  });

  test('a release has a Scoop manifest with URL, checksum and a command', () => {
    const manifest = JSON.parse(read(at('opsctl.json')));
    expect(manifest).toMatchObject({
      version: next,
      url: `https://downloads.example/opsctl/v98.7.6/${tarball}`,
      hash: sha256(at(tarball)),
      extract_dir: 'package',
      bin: 'opsctl.cmd',
    });
    // Scoop rejects unknown keys.
    const known = [
      'version',
      'description',
      'homepage',
      'license',
      'depends',
      'url',
      'hash',
      'extract_dir',
      'pre_install',
      'bin',
    ];
    expect(Object.keys(manifest).filter((key) => !known.includes(key))).toEqual([]);
  });

  test('a release has manual pages with its date and without complaints of mandoc', ({ skip }) => {
    const missing = missingTool('mandoc', ['-h']);
    const pages = join(work, 'deb/usr/lib/opsctl/dist/man');
    if (!existsSync(pages)) run('dpkg-deb', '-x', at(`opsctl_${next}_all.deb`), join(work, 'deb'));
    for (const page of readdirSync(pages)) expect(read(join(pages, page))).toContain('"2026-01-15"');
    if (missing !== undefined) skip(missing);
    const { stdout } = run(
      'mandoc',
      '-T',
      'lint',
      '-W',
      'warning',
      ...readdirSync(pages).map((page) => join(pages, page)),
    );
    expect(stdout).toBe('');
  });
});

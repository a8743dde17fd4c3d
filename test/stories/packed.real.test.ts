import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cachedNode } from '../tooling/nodes.mjs';
import { type Packed, install, pack, sha256 } from '../tooling/artifacts.mjs';
import { makeDirectory } from '../support/directory.ts';
import { covers } from '../support/covers.ts';

/** The installation of a user: the package is built from a copy of only the sources, installed without a registry, and run from there. */
const root = new URL('../../', import.meta.url).pathname;
const work = makeDirectory();
let program = '';
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };
let packed: Packed;

/** A fresh clone after `npm ci`, without files of an earlier build or test. */
const copyOf = (name: string): string => {
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
  return to;
};
const environment = (home: string): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !/^(OPSCTL_|XDG_|CI$|npm_|NODE_)/.test(name));
  return { ...Object.fromEntries(kept), HOME: home, OPSCTL_HOME: home, NO_COLOR: '1' };
};
const run = (node: string, args: readonly string[]) => {
  const home = makeDirectory('home-', work);
  const env = { ...environment(home), PATH: `${dirname(node)}:${process.env.PATH}` };
  return spawnSync(node, [program, ...args], { cwd: home, encoding: 'utf8', env, timeout: 300_000 });
};

beforeAll(() => {
  packed = pack(copyOf('one'), join(work, 'tarball-one'));
  program = install(packed.path, join(work, 'prefix'));
});

test('the package contains exactly the program and its files', () => {
  const wanted = [
    ...[
      'package.json',
      'README.md',
      'CHANGELOG.md',
      'SECURITY.md',
      'LICENSE',
      'bin/opsctl.js',
      'dist/main.js',
    ],
    ...['dist/THIRD-PARTY-NOTICES.txt', 'dist/sbom.cdx.json', 'dist/help.txt', 'dist/version.txt'],
    ...readdirSync(`${root}completions`).map((name) => `completions/${name}`),
  ];
  expect(packed.files).toEqual(expect.arrayContaining(wanted));
  expect(
    packed.files.filter(
      (file) => !/^(bin|dist|completions|docs)\/|^[A-Z]+(\.md)?$|^package\.json$/.test(file),
    ),
  ).toEqual([]);
  for (const page of ['opsctl', 'opsctl-kv-upgrade', 'opsctl-tracker-labels'])
    expect(packed.files).toContain(`dist/man/${page}.1`);
});

test('every link of a page in the package leads to a file in the package', () => {
  const directory = dirname(dirname(program));
  const files = new Set(packed.files);
  const dead = packed.files
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) =>
      [...readFileSync(join(directory, name), 'utf8').matchAll(/\]\(([^)\s#]+)/g)].flatMap(
        ([, link = '']) => {
          const target = join(dirname(name), link).replace(/\/$/, '');
          const isThere = files.has(target) || packed.files.some((file) => file.startsWith(`${target}/`));
          return /^[a-z]+:/.test(link) || isThere ? [] : [`${name}: ${link}`];
        },
      ),
    );
  expect(dead).toEqual([]);
});

test('npm links every manual page', () => {
  const pages = packed.files.flatMap((file) => /^dist\/man\/(.+)$/.exec(file)?.[1] ?? []);
  expect(readdirSync(join(work, 'prefix/share/man/man1')).sort()).toEqual(pages.sort());
});

test('version --verify finds changed, missing and added files of an installation', () => {
  const verify = () => run(process.execPath, ['version', '--verify', '-o', 'json']);
  const intact = verify();
  expect([intact.status, JSON.parse(intact.stdout)]).toMatchObject([
    0,
    { version, is_intact: true, changed: [] },
  ]);
  const directory = dirname(dirname(program));
  const at = (name: string) => join(directory, name);
  const kept = readFileSync(at('dist/help.txt'));
  const listed = readFileSync(at('dist/SHA256SUMS'), 'utf8').match(/(?<= {2}).+$/gm) ?? [];
  expect([...listed, 'dist/SHA256SUMS'].sort()).toEqual(packed.files.toSorted());
  writeFileSync(at('dist/help.txt'), 'changed');
  renameSync(at('completions/_opsctl'), at('completions/gone'));
  writeFileSync(at('dist/chunks/new.js'), '');
  const broken = verify();
  expect([broken.status, JSON.parse(broken.stdout)]).toMatchObject([
    20,
    {
      is_intact: false,
      changed: ['dist/help.txt'],
      missing: ['completions/_opsctl'],
      added: ['completions/gone', 'dist/chunks/new.js'],
      sha256: JSON.parse(intact.stdout).sha256,
    },
  ]);
  writeFileSync(at('dist/help.txt'), kept);
  renameSync(at('completions/gone'), at('completions/_opsctl'));
  rmSync(at('dist/chunks/new.js'));
  expect(verify().status).toBe(0);
});

test('version --verify names the keychain package, which the checksums do not cover', () => {
  const directory = dirname(dirname(program));
  const own = join(directory, 'node_modules/@napi-rs/keyring');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), '{"version":"2.1.2"}');
  const json = run(process.execPath, ['version', '--verify', '-o', 'json']);
  rmSync(join(directory, 'node_modules'), { recursive: true });
  expect([json.status, JSON.parse(json.stdout)]).toMatchObject([
    0,
    { is_intact: true, not_verified: [{ name: '@napi-rs/keyring', version: '2.1.2' }] },
  ]);
});

test.each([
  ['a missing', (path: string) => rmSync(path)],
  ['an incomplete', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 200))],
])('%s file of the program is reported as a damaged installation', (_, damage) => {
  const chunks = join(dirname(dirname(program)), 'dist/chunks');
  let count = 0;
  for (const name of readdirSync(chunks).filter((one) => /^(about|api-types|cluster-file)-/.test(one))) {
    const kept = readFileSync(join(chunks, name));
    damage(join(chunks, name));
    for (const args of [
      ['version'],
      ['labels', 'validate', '-f', 'x.yaml'],
      ['kv', 'check', '--cluster', 'x'],
    ]) {
      const { status, stderr } = run(process.execPath, args);
      if (!stderr.includes(name)) continue;
      expect([status, stderr]).toEqual([
        3,
        expect.stringMatching(/installation is damaged[\s\S]*install opsctl again/),
      ]);
      count += 1;
    }
    writeFileSync(join(chunks, name), kept);
  }
  expect(count).toBeGreaterThan(0);
});

test('version --sbom prints the bill of materials of the installation', () => {
  const printed = run(process.execPath, ['version', '--sbom', '-o', 'json']);
  const file = readFileSync(join(dirname(dirname(program)), 'dist/sbom.cdx.json'), 'utf8');
  expect([printed.status, JSON.parse(printed.stdout)]).toEqual([0, JSON.parse(file)]);
  expect(JSON.parse(file).components.length).toBeGreaterThan(20);
});

test('the package installs a command, without a registry and without install scripts', () => {
  expect(existsSync(join(work, 'prefix/bin/opsctl'))).toBe(true);
  const { scripts = {} } = JSON.parse(
    readFileSync(join(dirname(dirname(program)), 'package.json'), 'utf8'),
  ) as { scripts?: Record<string, string> };
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
});

/** Runs the steps of action.yml in bash, as a runner does. */
const runAction = (from: string, args: string, tarball: string) => {
  const { runs, inputs } = parse(readFileSync(`${from}/action.yml`, 'utf8')) as {
    inputs: Record<string, { required?: boolean; default?: string }>;
    runs: { steps: { run: string; env: Record<string, string>; shell: string }[] };
  };
  expect(Object.keys(inputs)).toEqual(['arguments', 'package', 'directory']);
  const home = makeDirectory('action-', work);
  const given: Record<string, string> = {
    '${{ inputs.package }}': tarball || (inputs.package?.default ?? ''),
    '${{ inputs.arguments }}': args,
  };
  const outputs = join(home, 'outputs');
  const ran = runs.steps.map(({ run: script, env, shell }) => {
    expect(shell).toBe('bash');
    const named = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, given[value] ?? value]),
    );
    return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      cwd: home,
      encoding: 'utf8',
      env: {
        ...environment(home),
        ...named,
        GITHUB_OUTPUT: outputs,
        GITHUB_ACTION_PATH: from,
        RUNNER_TEMP: home,
        npm_config_prefix: join(home, 'npm'),
        npm_config_offline: 'true',
        npm_config_cache: join(home, 'no-cache'),
        PATH: `${join(home, 'npm/bin')}:${process.env.PATH}`,
      },
    });
  });
  return { home, ran, codes: ran.map(({ status }) => status), outputs: readFileSync(outputs, 'utf8') };
};

test('the steps of action.yml, run in bash with this package', () => {
  const line = 'explain exit-codes $(touch owned) ; touch owned';
  const { home, codes, outputs } = runAction(root, line, packed.path);
  // The arguments are data. They reach the program, which rejects them as unknown, but no shell.
  expect(codes).toEqual([0, 2]);
  expect(outputs).toBe('exit-code=2\n');
  expect(existsSync(join(home, 'owned'))).toBe(false);
});

test('action.yml without a package builds the same archive in another directory and runs it, without a registry', () => {
  const { home, ran, codes, outputs } = runAction(copyOf('action'), 'version\n-o\njson', '');
  expect(codes, ran.map(({ stderr }) => stderr).join('')).toEqual([0, 0]);
  expect(JSON.parse(ran[1]?.stdout ?? '').version).toBe(version);
  const built = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.tgz'),
  );
  expect(built.map((name) => sha256(join(home, name)))).toEqual([sha256(packed.path)]);
  expect(outputs).toBe('exit-code=0\n');
});

const major = Number(process.versions.node.split('.')[0]);
const nodes = [
  [major, process.execPath] as const,
  ...[20, 22, 24, 26].flatMap((other) => {
    const node = other === major ? undefined : cachedNode(other);
    return node === undefined ? [] : [[other, node] as const];
  }),
];

describe.each(nodes)('installed, on Node %i', (_, node) => {
  test('version, help and completion', () => {
    expect(run(node, ['--version']).stdout.trim()).toBe(version);
    expect(run(node, ['--help']).stdout).toContain('opsctl');
    expect(run(node, ['tracker', 'labels', 'create', '--help']).stdout).toContain('--name');
    expect(run(node, ['completion', 'bash']).stdout).toContain('opsctl');
    const wrong = run(node, ['--no-such-flag']);
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
  });

  test('a record on the embedded server, and a sign-in without a browser', () => {
    const made = run(node, ['tracker', 'labels', 'create', '--name', 'packed', '-o', 'json']);
    expect([made.status, JSON.parse(made.stdout).name]).toEqual([0, 'packed']);
    const signedIn = run(node, ['login', '-o', 'json']);
    expect(signedIn.status, signedIn.stderr).toBe(0);
  });

  // Each run takes half a minute, so other Node.js versions run only in a soak test.
  if (node !== process.execPath && process.env.OPSCTL_SOAK !== '1') return;

  test('the tour: all three jobs', covers('spec/program#commands-1'), () => {
    const { status, stdout, stderr } = run(node, ['tour']);
    expect(status, `${stdout}\n${stderr}`).toBe(0);
  });
});

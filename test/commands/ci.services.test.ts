/** Commands that check something, in a CI job. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ciPage } from '../../src/cli/topics/texts.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home: string;
const at = (name: string): string => join(home, name);
const read = (name: string): string => readFileSync(at(name), 'utf8');
const run = (args: readonly string[], env: Record<string, string> = {}) => opsctl(args, { home, env });
beforeAll(async () => {
  home = makeDirectory();
  const { stdout } = await run(['tracker', 'export', '--only', 'labels']);
  writeFileSync(at('same.yaml'), stdout);
  writeFileSync(at('workspace.yaml'), 'labels:\n  - name: not there yet\n');
});

const reports = 'junit=r.xml,sarif=r.sarif,codequality=r.json,markdown=r.md';

describe('tracker diff', () => {
  it('tracker diff writes every report in addition to its output', async () => {
    const { code } = await run(['tracker', 'diff', '-f', 'workspace.yaml', '--report', reports]);
    expect(code).toBe(20);
    expect(read('r.xml')).toContain(
      '<testcase classname="tracker diff" name="difference: labels not there yet" file="workspace.yaml">',
    );
    expect(JSON.parse(read('r.sarif')).runs[0].results[0]).toMatchObject({
      ruleId: 'difference',
      level: 'error',
    });
    expect(JSON.parse(read('r.json'))[0].location.path).toBe('workspace.yaml');
    expect(read('r.md')).toContain('### tracker diff: 1 fail');
  });
  it('tracker diff also reports that no differences exist', async () => {
    expect((await run(['tracker', 'diff', '-f', 'same.yaml', '--report', 'junit=ok.xml'])).code).toBe(0);
    expect(read('ok.xml')).toContain('tests="1" failures="0"');
  });
  it('tracker diff adds annotations and a job summary on GitHub Actions automatically', async () => {
    writeFileSync(at('summary.md'), 'before\n');
    const { code, stderr } = await run(['tracker', 'diff', '-f', at('workspace.yaml')], {
      GITHUB_ACTIONS: 'true',
      GITHUB_STEP_SUMMARY: at('summary.md'),
    });
    expect(code).toBe(20);
    expect(stderr).toContain(
      '::error file=workspace.yaml,title=difference%3A labels not there yet::create labels not there yet',
    );
    expect(read('summary.md')).toMatch(/^before\n### tracker diff: 1 fail/);
  });
  it('tracker diff writes a section of the log on GitLab', async () => {
    const { stderr } = await run(['tracker', 'diff', '-f', 'workspace.yaml'], { GITLAB_CI: 'true' });
    expect(stderr).toMatch(/section_start:\d+:opsctl_findings[\s\S]*section_end:\d+:opsctl_findings/);
  });
});

it('bulk annotates the line of each failed row', async () => {
  writeFileSync(
    at('rows.ndjson'),
    '{"op":"create","resource":"labels","name":"fine"}\n{"op":"create","resource":"labels"}\n',
  );
  const { code, stderr } = await run(
    ['tracker', 'bulk', '-f', 'rows.ndjson', '--report', 'sarif=rows.sarif'],
    {
      GITHUB_ACTIONS: 'true',
    },
  );
  expect(code).toBe(9);
  expect(stderr).toMatch(/::error file=rows\.ndjson,line=2,title=/);
  expect(
    JSON.parse(read('rows.sarif')).runs[0].results[0].locations[0].physicalLocation.region.startLine,
  ).toBe(2);
});

describe('label files', () => {
  beforeAll(() => {
    mkdirSync(at('labels'), { recursive: true });
    writeFileSync(at('labels/one.yaml'), 'title: One\ntype: SHARED\nfields:\n  - name: [wrong]\n');
  });
  it('problems that stop a command are annotated at their lines', async () => {
    const { code, stderr } = await run(['labels', 'validate', '-f', 'labels'], { GITHUB_ACTIONS: 'true' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/::error file=labels\/one\.yaml,line=\d+,/);
    const quiet = await run(['labels', 'validate', '-f', 'labels', '-o', 'json'], { GITHUB_ACTIONS: 'true' });
    expect(() => JSON.parse(quiet.stderr)).not.toThrow();
  });
  it('lint has its report', async () => {
    writeFileSync(at('labels/one.yaml'), 'title: One\ntype: SHARED\n');
    writeFileSync(at('labels/labels.lint.yaml'), 'name_pattern: "^zz"\ndescription: true\n');
    const { code } = await run([
      'labels',
      'lint',
      '-f',
      'labels/one.yaml',
      '--rules',
      'labels/labels.lint.yaml',
      '--report',
      'junit=lint.xml',
    ]);
    expect(code).toBe(20);
    expect(read('lint.xml')).toMatch(/<failure message=/);
  });
});

it('a command without checks rejects --report before any request', async () => {
  const { code, stderr } = await run(['tracker', 'labels', 'list', '--report', 'junit=x.xml']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('is for commands that check something')]);
});

describe('checks in the repository', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  it('the action hands its arguments over as data, and its exit code back', () => {
    const action = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
    const step = action.runs.steps.find(({ id }: { id?: string }) => id === 'run');
    expect(action.runs.using).toBe('composite');
    expect(JSON.stringify(action.runs.steps.map(({ run: script }: { run: string }) => script))).not.toContain(
      '${{',
    );
    const bin = makeDirectory('bin-', home);
    writeFileSync(join(bin, 'opsctl'), '#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT"\nexit 20\n');
    chmodSync(join(bin, 'opsctl'), 0o755);
    const script = () =>
      execFileSync('bash', ['-e', '-o', 'pipefail', '-c', step.run], {
        env: {
          PATH: `${bin}:${process.env.PATH}`,
          ARGUMENTS: 'labels lint -f $(id)',
          GITHUB_OUTPUT: at('output'),
          OUT: at('words'),
        },
      });
    expect(script).toThrow(expect.objectContaining({ status: 20 }));
    expect([read('output'), read('words')]).toEqual(['exit-code=20\n', 'labels\nlint\n-f\n$(id)\n']);
  });
  describe('the steps of the action', () => {
    const steps = parse(readFileSync(join(root, 'action.yml'), 'utf8')).runs.steps;
    /** Runs one step in bash, with replacements for opsctl and npm that record their arguments, each followed by a NUL. */
    const runStep = (index: number, env: Readonly<Record<string, string>>) => {
      const bin = makeDirectory('bin-', home);
      for (const name of ['opsctl', 'npm']) {
        writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\0' ${name} "$@" >> "$OUT"\n`);
        chmodSync(join(bin, name), 0o755);
      }
      const files = { OUT: join(bin, 'words'), GITHUB_OUTPUT: join(bin, 'output') };
      const done = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', steps[index].run], {
        cwd: bin,
        encoding: 'utf8',
        env: { ...files, PATH: `${bin}:${process.env.PATH}`, GITHUB_ACTION_PATH: bin, ...env },
      });
      const text = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
      return {
        ...{ code: done.status, said: done.stdout, output: text(files.GITHUB_OUTPUT) },
        words: text(files.OUT).split('\0').slice(0, -1),
      };
    };

    it.each<[string, string[]]>([
      ['labels lint -f labels/', ['labels', 'lint', '-f', 'labels/']],
      ['labels apply -f labels/\n--dry-run', ['labels', 'apply', '-f', 'labels/', '--dry-run']],
      ['labels apply -f labels/\n--dry-run\n', ['labels', 'apply', '-f', 'labels/', '--dry-run']],
      ['labels\r\napply\r\n\r\n--dry-run\r\n', ['labels', 'apply', '--dry-run']],
      ['  a \t b\n\n\n  c', ['a', 'b', 'c']],
      ['create --name "Fix login"', ['create', '--name', 'Fix login']],
      [`--jq='.[] | .name' --name "it's"`, ['--jq=.[] | .name', '--name', "it's"]],
      ['--text "two\nlines" \'\'', ['--text', 'two\nlines', '']],
      ['$HOME `id` $(id) ; * ~ \\n # x', ['$HOME', '`id`', '$(id)', ';', '*', '~', '\\n', '#', 'x']],
      ['--name Größe🙂 -- -n', ['--name', 'Größe🙂', '--', '-n']],
    ])('pass %j on as whole arguments', (given, expected) => {
      for (const locale of ['C', 'C.UTF-8']) {
        const { code, words, output } = runStep(1, { ARGUMENTS: given, LC_ALL: locale });
        expect([code, words, output]).toEqual([0, ['opsctl', ...expected], 'exit-code=0\n']);
      }
    });
    it.each([
      ['labels create --name "Fix login', 'is not closed'],
      ["--name don't", 'is not closed'],
      ['', 'no command'],
      [' \n ', 'no command'],
    ])('the action rejects the arguments %j and starts no program', (given, reason) => {
      const { code, words, said, output } = runStep(1, { ARGUMENTS: given });
      expect([code, words, output]).toEqual([2, [], 'exit-code=2\n']);
      expect(said).toMatch(new RegExp(`^::error title=opsctl::invalid input arguments: .*${reason}`));
    });
    it.each([
      '/tmp/opsctl-0.1.0.tgz',
      'https://host.example/opsctl.tgz',
      'opsctl@1.2.3',
      '@scope/opsctl@1.2.3-rc.1',
      '--x.tgz',
    ])('install the package %j without its scripts', (given) => {
      const { code, words } = runStep(0, { PACKAGE: given });
      expect([code, words.slice(0, 3), words.slice(-2)]).toEqual([
        ...[0, ['npm', 'install', '--global'], ['--', given]],
      ]);
      expect(words).toContain('--ignore-scripts');
    });
    it.each([
      'opsctl',
      'opsctl@latest',
      'opsctl@^1',
      'opsctl@1',
      '-g',
      'git+https://host.example/x',
      'x\nopsctl@1.2.3',
    ])('refuse the package %j, which can change', (given) => {
      const { code, words, said } = runStep(0, { PACKAGE: given });
      expect([code, words]).toEqual([2, []]);
      expect(said).toMatch(/^::error title=opsctl::invalid input package/);
    });
    it('install no name of a registry by default: npm gets the lock file and a tarball of the action', () => {
      const { inputs } = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
      expect(inputs.package.default).toBe('');
      const { words } = runStep(0, { PACKAGE: '' });
      const calls = words
        .join(' ')
        .split(/(?:^| )npm /)
        .slice(1);
      expect(calls.map((one) => one.split(' ')[0])).toEqual(['ci', 'pack', 'install']);
      expect(calls[0]).toContain('--ignore-scripts');
      expect(calls[2]).toMatch(/ -- \/\S+\.tgz$/);
    });
  });
  it('the container runs as an ordinary user, from an image with a digest', () => {
    const lines = readFileSync(join(root, 'Containerfile'), 'utf8');
    expect(lines).toMatch(/^ARG NODE=\S+@sha256:[0-9a-f]{64}$/m);
    expect(lines).toMatch(/^USER 1000:1000$/m);
    expect(lines).toMatch(/^ENTRYPOINT \["opsctl"\]$/m);
  });
});

it('every line of `help ci` runs, in order, from an empty directory', async () => {
  const lines = ciPage.blocks.flatMap((block) => (block.kind === 'shell' ? block.lines : []));
  expect(lines.length).toBeGreaterThan(3);
  const directory = makeDirectory('job-', home);
  for (const line of lines.filter((one) => !one.includes('mock run'))) {
    const [words = '', to] = line.split(' > ');
    const ran = await opsctl(words.split(' ').slice(1), { home, cwd: directory });
    expect([line, ran.code]).toEqual([line, 0]);
    if (to !== undefined) writeFileSync(join(directory, to), ran.stdout);
  }
  expect(readFileSync(join(directory, 'tracker.sarif'), 'utf8')).toContain('"2.1.0"');
});

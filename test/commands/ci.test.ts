/** Commands that check something, in a CI job. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { page as ciPage } from '../../src/cli/topics/ci.ts';
import { opsctl } from '../support/program.ts';

let home: string;
const at = (name: string): string => join(home, name);
const read = (name: string): string => readFileSync(at(name), 'utf8');
const run = (args: readonly string[], env: Record<string, string> = {}) => opsctl(args, { home, env });
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'opsctl-ci-'));
  const { stdout } = await run(['tracker', 'export', '--only', 'labels']);
  writeFileSync(at('same.yaml'), stdout);
  writeFileSync(at('workspace.yaml'), 'labels:\n  - name: not there yet\n');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const reports = 'junit=r.xml,sarif=r.sarif,codequality=r.json,markdown=r.md';

describe('tracker diff', () => {
  it('writes every report beside its answer', async () => {
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
  it('says that all is well, too', async () => {
    expect((await run(['tracker', 'diff', '-f', 'same.yaml', '--report', 'junit=ok.xml'])).code).toBe(0);
    expect(read('ok.xml')).toContain('tests="1" failures="0"');
  });
  it('annotates and writes the job summary on GitHub Actions, by itself', async () => {
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
  it('is a section of the log on GitLab', async () => {
    const { stderr } = await run(['tracker', 'diff', '-f', 'workspace.yaml'], { GITLAB_CI: 'true' });
    expect(stderr).toMatch(/section_start:\d+:opsctl_findings[\s\S]*section_end:\d+:opsctl_findings/);
  });
});

it('bulk: each failed row stands beside its line', async () => {
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
  it('problems that stop a command stand beside their lines', async () => {
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

it('a command that checks nothing refuses --report before anything is sent', async () => {
  const { code, stderr } = await run(['tracker', 'labels', 'list', '--report', 'junit=x.xml']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('is for commands that check something')]);
});

describe('in the repository', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  it('the action hands its arguments over as data, and its exit code back', () => {
    const action = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
    const step = action.runs.steps.find(({ id }: { id?: string }) => id === 'run');
    expect(action.runs.using).toBe('composite');
    expect(JSON.stringify(action.runs.steps.map(({ run: script }: { run: string }) => script))).not.toContain(
      '${{',
    );
    const bin = mkdtempSync(join(home, 'bin-'));
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
  it('the container runs as nobody special, from the packed tarball', () => {
    const lines = readFileSync(join(root, 'Containerfile'), 'utf8');
    expect(lines).toMatch(/^COPY opsctl-\*\.tgz /m);
    expect(lines).toMatch(/^USER node$/m);
    expect(lines).toMatch(/^ENTRYPOINT \["opsctl"\]$/m);
  });
});

it('every line of `help ci` runs, in order, from an empty directory', async () => {
  const lines = ciPage.blocks.flatMap((block) => (block.kind === 'shell' ? block.lines : []));
  expect(lines.length).toBeGreaterThan(3);
  const directory = mkdtempSync(join(home, 'job-'));
  for (const line of lines.filter((one) => !one.includes('mock run'))) {
    const [words = '', to] = line.split(' > ');
    const ran = await opsctl(words.split(' ').slice(1), { home, cwd: directory });
    expect([line, ran.code]).toEqual([line, 0]);
    if (to !== undefined) writeFileSync(join(directory, to), ran.stdout);
  }
  expect(readFileSync(join(directory, 'tracker.sarif'), 'utf8')).toContain('"2.1.0"');
});

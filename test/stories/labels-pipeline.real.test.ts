/** The jobs of docs/ci for labels, step by step: their `run` lines in bash, on a git repository, with two label services. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { makeDirectory } from '../support/directory.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const workflow = (name: string): any =>
  parse(readFileSync(new URL(`../../docs/ci/${name}`, import.meta.url), 'utf8'), { merge: true });
type Deployment = 'staging' | 'production';

let home: string;
let origin: string;
let servers: Record<Deployment, LabelServer>;
beforeEach(async () => {
  home = makeDirectory();
  origin = join(home, 'origin.git');
  servers = { staging: await labelServer(), production: await labelServer() };
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch', 'main', origin]);
  // GitLab accepts push options. A plain repository requires this setting.
  git(origin, 'config', 'receive.advertisePushOptions', 'true');
  const programs = join(home, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'opsctl'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  // The program is already installed here. The jobs install it from the registry.
  writeFileSync(join(programs, 'npm'), '#!/bin/sh\ntest "$1 $2" = "install --global"\n');
  for (const name of ['opsctl', 'npm']) chmodSync(join(programs, name), 0o755);
});
afterEach(async () => {
  await Promise.all(Object.values(servers).map((server) => server.close()));
});

const environment = (deployment: Deployment, more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  PATH: `${join(home, 'programs')}:${dirname(process.execPath)}:/usr/bin:/bin`,
  HOME: home,
  CI: 'true',
  OPSCTL_HOME: join(home, 'state'),
  OPSCTL_LABELS_URL: new URL(servers[deployment].base).origin,
  OPSCTL_LABELS_TOKEN: 'any-token',
  GIT_CONFIG_GLOBAL: '/dev/null',
  ...more,
});
const git = (directory: string, ...words: string[]): string => {
  const identity = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com'];
  const ran = spawnSync('git', [...identity, ...words], { cwd: directory, encoding: 'utf8' });
  if (ran.status !== 0) throw new Error(`git ${words.join(' ')}: ${ran.stderr}`);
  return ran.stdout.trim();
};
let clones = 0;
const checkout = (branch: string): string => {
  clones += 1;
  const directory = join(home, `clone-${clones}`);
  git(home, 'clone', '--quiet', '--branch', branch, origin, directory);
  return directory;
};
const commit = (directory: string, branch: string, files: Record<string, string | null>): void => {
  mkdirSync(join(directory, 'labels'), { recursive: true });
  for (const [name, text] of Object.entries(files))
    if (text === null) rmSync(join(directory, 'labels', name));
    else writeFileSync(join(directory, 'labels', name), text);
  git(directory, 'add', '-A');
  git(directory, 'commit', '--quiet', '-m', 'Change labels');
  git(directory, 'push', '--quiet', 'origin', `HEAD:${branch}`);
};
const firstCommit = (files: Record<string, string>): string => {
  const directory = join(home, 'developer');
  git(home, 'clone', '--quiet', origin, directory);
  commit(directory, 'main', files);
  return directory;
};
const titles = async (deployment: Deployment): Promise<string[]> =>
  (await servers[deployment].send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL')).json.labels?.map(
    (one: any) => one.properties.title,
  ) ?? [];
const commits = (): string[] => git(checkout('main'), 'log', '--format=%s').split('\n');
const run = (
  script: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; stdout: string; stderr: string }> =>
  new Promise((resolve, reject) => {
    const words = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script];
    const child = spawn('bash', words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (data: string) => {
      stdout += data;
    });
    child.stderr.setEncoding('utf8').on('data', (data: string) => {
      stderr += data;
    });
    child.once('error', reject).once('close', (code) => resolve({ code, stdout, stderr }));
  });

type Pipeline = {
  /** Runs the jobs of a change request and resolves to the text that they show. */
  plan(branch: string, deployment: Deployment): Promise<{ code: number | null; shown: string }>;
  /** Runs the job of one deployment after the merge. */
  apply(deployment: Deployment): Promise<number | null>;
};
const github = (): Pipeline => {
  const { jobs } = workflow('labels-github-actions.yml');
  const steps = async (job: any, cwd: string, env: NodeJS.ProcessEnv) => {
    let code: number | null = 0;
    let shown = '';
    for (const step of job.steps) {
      if (step.run === undefined || (code !== 0 && step.if !== 'always()')) continue;
      const ran = await run(step.run, cwd, env);
      shown += ran.stdout + ran.stderr;
      if (ran.code !== 0) code = ran.code;
    }
    return { code, shown };
  };
  return {
    async plan(branch, deployment) {
      const summary = join(home, 'summary.md');
      writeFileSync(summary, '');
      const env = environment(deployment, { GITHUB_STEP_SUMMARY: summary, DEPLOYMENT: deployment });
      const { code } = await steps(jobs.plan, checkout(branch), env);
      return { code, shown: readFileSync(summary, 'utf8') };
    },
    apply: async (deployment) =>
      (await steps(jobs[deployment], checkout('main'), environment(deployment))).code,
  };
};
const gitlab = (): Pipeline => {
  const jobs = workflow('labels-gitlab-ci.yml');
  const script = (job: any, cwd: string, deployment: Deployment) =>
    run(
      [...jobs['.labels'].before_script, ...job.script].join('\n'),
      cwd,
      environment(deployment, {
        CI_ENVIRONMENT_NAME: deployment,
        CI_DEFAULT_BRANCH: 'main',
        LABELS_PUSH_URL: origin,
      }),
    );
  return {
    async plan(branch, deployment) {
      const ran = await script(jobs['.plan'], checkout(branch), deployment);
      return { code: ran.code, shown: ran.stdout };
    },
    apply: async (deployment) => (await script(jobs['.apply'], checkout('main'), deployment)).code,
  };
};

describe.each([
  ['GitHub Actions', github],
  ['GitLab CI', gitlab],
])('the label pipeline of %s', (_, open) => {
  test('plans in the request, applies after the merge, and pushes one lock file for both deployments', async () => {
    const pipeline = open();
    const developer = firstCommit({ 'one.yaml': 'title: One\nstate: published\n' });
    for (const deployment of ['staging', 'production'] as const)
      expect(await pipeline.apply(deployment)).toBe(0);
    expect([await titles('staging'), await titles('production')]).toEqual([['One'], ['One']]);
    const lock = (): string => readFileSync(join(checkout('main'), 'labels/labels.lock.yaml'), 'utf8');
    expect([lock().includes('staging:'), lock().includes('production:')]).toEqual([true, true]);
    // The change request makes no changes before the merge.
    git(developer, 'pull', '--quiet', 'origin', 'main');
    commit(developer, 'rename', { 'one.yaml': 'title: Uno\nstate: published\n' });
    const planned = await pipeline.plan('rename', 'production');
    expect([planned.code, planned.shown, await titles('production')]).toEqual([
      0,
      expect.stringContaining('Uno'),
      ['One'],
    ]);
    // After the merge, the same labels get the new title, and the second run makes no changes.
    git(developer, 'push', '--quiet', 'origin', 'HEAD:main');
    for (const deployment of ['staging', 'production'] as const)
      expect(await pipeline.apply(deployment)).toBe(0);
    expect([await titles('staging'), await titles('production')]).toEqual([['Uno'], ['Uno']]);
    const before = commits();
    expect(await pipeline.apply('staging')).toBe(0);
    expect(commits()).toEqual(before);
    expect(before.filter((subject) => subject.startsWith('Record the labels applied to')).length).toBe(4);
  });

  test('a failed apply pushes the lock file of the labels that it changed, and fails', async () => {
    const pipeline = open();
    firstCommit({ 'a.yaml': 'title: A\nstate: published\n', 'b.yaml': 'title: B\n' });
    const fault = { method: 'POST', path: '/v2beta/labels', skip: 1, status: 403, body: '{}' };
    await fetch(`${new URL(servers.staging.base).origin}/__opsctl/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fault),
    });
    expect(await pipeline.apply('staging')).not.toBe(0);
    const lock = readFileSync(join(checkout('main'), 'labels/labels.lock.yaml'), 'utf8');
    expect([await titles('staging'), lock.includes('title: "A"')]).toEqual([['A'], true]);
  });

  test('an apply that fails before the first lock file ends with its own exit code', async () => {
    const pipeline = open();
    firstCommit({ 'a.yaml': 'titel: A\n' });
    expect(await pipeline.apply('staging')).toBe(2);
  });

  test('each kind of change of an element reaches the service once', async () => {
    const pipeline = open();
    const file = (...fields: string[]) => ({
      'kind.yaml': ['title: Kind', 'state: published', 'fields:', ...fields, ''].join('\n'),
    });
    const note = '  - {name: Note, type: text}';
    const phase = (...choices: string[]) =>
      `  - {name: Phase, type: selection, choices: [${choices.join(', ')}]}`;
    const elements = async (): Promise<string[]> => {
      const { json } = await servers.staging.send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL');
      const named = (one: any): string =>
        `${one.properties.displayName}${one.lifecycle.state === 'DISABLED' ? ' (disabled)' : ''}`;
      return json.labels[0].fields.flatMap((field: any) => [
        named(field),
        ...(field.selectionOptions?.choices ?? []).map(named),
      ]);
    };
    const changes: [Record<string, string>, string[]][] = [
      [file(note, phase('A', 'B')), ['Note', 'Phase', 'A', 'B']],
      [file(note, phase('{name: Alpha, was: A}', 'B')), ['Note', 'Phase', 'Alpha', 'B']],
      [file(note, phase('Alpha', 'B', 'C')), ['Note', 'Phase', 'Alpha', 'B', 'C']],
      [file(note, phase('Alpha', 'C')), ['Note', 'Phase', 'Alpha', 'B (disabled)', 'C']],
      [file(phase('Alpha', 'B', 'C')), ['Note (disabled)', 'Phase', 'Alpha', 'B', 'C']],
      [file(note, phase('Alpha', 'B', 'C')), ['Note', 'Phase', 'Alpha', 'B', 'C']],
    ];
    const developer = firstCommit({ 'readme.yaml': '[]\n' });
    for (const [files, expected] of changes) {
      git(developer, 'pull', '--quiet', '--rebase', 'origin', 'main');
      commit(developer, 'main', files);
      expect(await pipeline.apply('staging')).toBe(0);
      expect((await elements()).toSorted()).toEqual(expected.toSorted());
    }
    const before = commits();
    expect(await pipeline.apply('staging')).toBe(0);
    expect(commits()).toEqual(before);
  });

  test('an invalid file fails in the request', async () => {
    const pipeline = open();
    const developer = firstCommit({ 'a.yaml': 'title: A\n' });
    commit(developer, 'wrong', { 'a.yaml': 'titel: A\n' });
    expect((await pipeline.plan('wrong', 'staging')).code).not.toBe(0);
  });
});

/** The tests above run the steps. The conditions that start them are those of the CI systems, so they are compared as text. */
test('the jobs run on requests and after the merge, with the variables of their deployment', () => {
  const { on, jobs } = workflow('labels-github-actions.yml');
  expect(on).toEqual({
    pull_request: { paths: ['labels/**'] },
    push: { branches: ['main'], paths: ['labels/**'] },
  });
  const service = {
    OPSCTL_LABELS_URL: '${{ vars.OPSCTL_LABELS_URL }}',
    OPSCTL_LABELS_TOKEN: '${{ secrets.OPSCTL_LABELS_TOKEN }}',
  };
  expect([jobs.plan.env, jobs.staging.env, jobs.production.env]).toEqual([
    { ...service, DEPLOYMENT: '${{ matrix.deployment }}' },
    service,
    service,
  ]);
  expect([jobs.plan.if, jobs.staging.if, jobs.production.if, jobs.production.needs]).toEqual([
    "github.event_name == 'pull_request'",
    "github.event_name == 'push'",
    undefined,
    'staging',
  ]);
  const lab = workflow('labels-gitlab-ci.yml');
  const changes = ['labels/**/*'];
  expect([lab['.plan'].rules, lab['.apply'].rules]).toEqual([
    [{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"', changes }],
    [{ if: '$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH', changes }],
  ]);
  expect(lab.stages).toEqual(['plan', lab['apply-staging'].stage, lab['apply-production'].stage]);
});

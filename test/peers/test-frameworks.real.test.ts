/** The module and the fixture of docs/how-to/test-against-the-mock-server.md in third-party frameworks: 200 tests in parallel. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
// @ts-expect-error: a plain script, shared with the benches.
import { peers } from './install.mjs';
import { isLeftOut, pythonPackages } from './python.ts';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
const TESTS = 200;
let directory: string;
let resolve: (name: string) => string;
beforeAll(() => {
  resolve = peers().resolve;
  directory = makeDirectory();
  writeFileSync(join(directory, 'package.json'), '{"type":"module","name":"user"}');
});

/** Each test has its own server and counts the requests that it received. */
const body = (imports: string, each: string): string => `
${imports}
import { startMock } from '${root}dist/testing.js';
const one = async (i) => {
  const mock = await startMock({ seed: 'empty' });
  try {
    const headers = { 'Tracker-Token': mock.tracker.token, 'content-type': 'application/json' };
    const post = () => fetch(mock.url + '/api/v3/labels', { method: 'POST', headers, body: JSON.stringify({ name: 'n' + i }) });
    if ((await post()).status !== 201) throw new Error('the label was not made');
    await mock.expectRequests({ method: 'POST', body: { name: 'n' + i } }, 1);
    const labels = await (await fetch(mock.url + '/api/v3/labels', { headers })).json();
    if (labels.length !== 1 || labels[0].name !== 'n' + i) throw new Error('records of another test: ' + JSON.stringify(labels));
  } finally {
    await mock.close();
  }
};
${each}
`;
const run = (name: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const { NODE_TEST_CONTEXT: _n, VITEST: _v, ...rest } = process.env;
  const began = performance.now();
  const done = spawnSync(command, args, {
    cwd: directory,
    encoding: 'utf8',
    env: { ...rest, NO_COLOR: '1', ...env },
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`${name}: ${TESTS} parallel tests in ${seconds} s, start of the framework included\n`);
  return { code: done.status, text: `${done.stdout}\n${done.stderr}` };
};

describe('200 parallel tests', () => {
  const loop = (call: string): string => `for (let i = 0; i < ${TESTS}; i++) ${call};`;
  test('node:test', () => {
    const file = join(directory, 'node.test.mjs');
    const each = `describe('mocks', { concurrency: ${TESTS} }, () => { ${loop('it(`test ${i}`, () => one(i))')} });`;
    writeFileSync(file, body(`import { describe, it } from 'node:test';`, each));
    const { code, text } = run('node:test', process.execPath, ['--test', '--test-reporter=tap', file]);
    expect([code, text]).toEqual([0, expect.stringContaining(`# pass ${TESTS}`)]);
  });
  test('vitest', () => {
    const file = join(directory, 'labels.vitest.mjs');
    writeFileSync(
      file,
      body(`import { test } from 'vitest';`, loop('test.concurrent(`test ${i}`, () => one(i))')),
    );
    const config = join(directory, 'vitest.config.mjs');
    const settings = { include: ['*.vitest.mjs'], maxConcurrency: TESTS, testTimeout: 60_000 };
    writeFileSync(config, `export default { test: ${JSON.stringify(settings)} };`);
    const bin = join(root, 'node_modules/vitest/vitest.mjs');
    const { code, text } = run('vitest', process.execPath, [
      bin,
      'run',
      '--root',
      directory,
      '--config',
      config,
    ]);
    expect([code, text]).toEqual([0, expect.stringMatching(new RegExp(`${TESTS} passed`))]);
  });
  test('jest, as an ES module', () => {
    const file = join(directory, 'labels.jest.mjs');
    const imports = `import { test } from '@jest/globals';`;
    writeFileSync(file, body(imports, loop('test.concurrent(`test ${i}`, () => one(i), 60_000)')));
    const settings = {
      rootDir: directory,
      testMatch: ['**/*.jest.mjs'],
      moduleFileExtensions: ['mjs', 'js', 'json'],
      transform: {},
      maxConcurrency: TESTS,
    };
    const bin = join(resolve('jest'), '../../bin/jest.js');
    const args = ['--experimental-vm-modules', bin, '--config', JSON.stringify(settings)];
    const { code, text } = run('jest', process.execPath, args);
    expect([code, text]).toEqual([0, expect.stringMatching(new RegExp(`${TESTS} passed`))]);
  });
});

const pytest = pythonPackages(
  'python-pytest',
  ['pytest', 'pluggy', 'iniconfig', 'packaging', 'attr'].map((name) => `python3-${name}`),
  'pytest',
);
describe.skipIf(isLeftOut(pytest))('pytest', () => {
  test('the fixture of the guide starts a server for a test and stops it', () => {
    const guide = readFileSync(join(root, 'docs/how-to/test-against-the-mock-server.md'), 'utf8');
    const [, fixture = ''] = /```python\n([\s\S]*?)```/.exec(guide) ?? [];
    expect(fixture).toContain('@pytest.fixture');
    const program = join(directory, 'bin');
    mkdirSync(program, { recursive: true });
    const script = `#!/bin/sh\nexec ${process.execPath} ${root}bin/opsctl.js "$@"\n`;
    writeFileSync(join(program, 'opsctl'), script);
    chmodSync(join(program, 'opsctl'), 0o755);
    writeFileSync(join(directory, 'conftest.py'), fixture);
    writeFileSync(
      join(directory, 'test_labels.py'),
      `import json, urllib.request
def ask(mock, method, body=None):
    request = urllib.request.Request(mock["tracker"]["base_url"] + "/api/v3/labels", method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Tracker-Token": mock["tracker"]["token"], "Content-Type": "application/json"})
    return json.loads(urllib.request.urlopen(request).read())
def test_creates_a_label(opsctl_mock):
    assert ask(opsctl_mock, "POST", {"name": "bug"})["name"] == "bug"
def test_has_records_of_its_own(opsctl_mock):
    assert ask(opsctl_mock, "GET") == []
`,
    );
    const done = spawnSync(pytest.command, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], {
      cwd: directory,
      encoding: 'utf8',
      env: { PATH: `${program}:${process.env.PATH}`, PYTHONPATH: pytest.path, HOME: directory },
    });
    expect([done.status, done.stdout]).toEqual([0, expect.stringContaining('2 passed')]);
  });
});

import { constants } from 'node:os';
import { describe, expect, test } from 'vitest';
import { explanationOf } from '../../src/cli/explain.ts';
import { type Advice, adviceText, after, next } from '../../src/core/next.ts';
import { NetworkError } from '../../src/platform/host.ts';
import { limits } from '../../src/core/limits.ts';
import { AppError, problem, usageError } from '../../src/core/problem.ts';
import { appErrorFrom, renderError } from '../../src/output/error.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import type { OutputOptions } from '../../src/output/types.ts';
import { type FakeHostOptions, fakeHost } from '../support/fake-host.ts';
import { covers } from '../support/covers.ts';

const shown = async (
  thrown: unknown,
  options: Partial<OutputOptions> = {},
  world: FakeHostOptions = {},
  secret = '',
) => {
  const host = fakeHost(world);
  const redactor = makeRedactor();
  redactor.hide(secret);
  const category = await renderError(
    thrown,
    { header: true, quiet: false, verbose: false, ...options },
    host,
    redactor,
  );
  return { category, err: host.err(), out: host.out() };
};
const taken = new AppError('refused', 'label x exists already', {
  code: 'NAME_TAKEN',
  httpStatus: 422,
  tryThis: ['choose another name', 'opsctl tracker labels list'],
  docs: 'https://docs.example/labels',
  requestId: 'req-1',
  problems: [problem('name', 'rule', 'is taken', 'by label 7')],
});

test('commands in messages, problems and hints get the flags of the line', async () => {
  const write = (command: readonly string[]): string => ['opsctl', ...command, '--cluster', 'a'].join(' ');
  const showAdvice = (advice: Advice): string => adviceText(advice, write);
  const held = new AppError('stopped', after('held; go on with', ['kv', 'resume']), {
    problems: [problem('', 'rule', 'x', next(['kv', 'check']))],
    tryThis: [next(['kv', 'status']), 'ask'],
  });
  expect(held.message).toBe('held; go on with opsctl kv resume');
  expect((await shown(held, { showAdvice })).err.trim().split('\n')).toEqual([
    'error: held; go on with opsctl kv resume --cluster a',
    '  x (opsctl kv check --cluster a)',
    '  try: opsctl kv status --cluster a',
    '  try: ask',
  ]);
  expect(JSON.parse((await shown(held, { showAdvice, format: 'json' })).err)).toMatchObject({
    message: 'held; go on with opsctl kv resume --cluster a',
    hint: 'opsctl kv status --cluster a',
    problems: [{ hint: 'opsctl kv check --cluster a' }],
  });
});

test('text errors contain the failure, each problem, hints and a link', async () => {
  expect(await shown(taken)).toEqual({
    category: 'refused',
    out: '',
    err: [
      'error: label x exists already',
      '  name is taken (by label 7)',
      '  try: choose another name',
      '  try: opsctl tracker labels list',
      '  docs: https://docs.example/labels',
      '  request id: req-1',
      '',
    ].join('\n'),
  });
});

test('text errors print a hint once; JSON errors contain it for each problem', async () => {
  const hint = 'put a 3.4 binary there';
  const three = ['n1', 'n2', 'n3'].map((name) => problem(name, 'rule', 'has the wrong binary', hint));
  const error = (tryThis: readonly string[]) =>
    new AppError('unsafe', 'refused', { problems: three, tryThis });
  expect((await shown(error([hint]))).err.split('\n').slice(1, -1)).toEqual([
    ...['n1', 'n2', 'n3'].map((name) => `  ${name} has the wrong binary`),
    `  try: ${hint}`,
  ]);
  expect((await shown(error([]))).err.match(/put a 3\.4/g)).toHaveLength(1);
  const { problems } = JSON.parse((await shown(error([hint]), { format: 'json' })).err);
  expect(problems).toEqual(three);
});

test.each(['json', 'ndjson'] as const)(
  '-o %s prints an error as one JSON object on one line of stderr',
  covers('spec/program#exit-codes-2'),
  async (format) => {
    const { err, out } = await shown(taken, { format });
    expect(err.split('\n')).toHaveLength(2);
    expect(JSON.parse(err)).toEqual({
      code: 'NAME_TAKEN',
      category: 'refused',
      exit_code: 5,
      http_status: 422,
      message: 'label x exists already',
      hint: 'choose another name',
      hints: ['choose another name', 'opsctl tracker labels list'],
      docs: 'https://docs.example/labels',
      retryable: false,
      request_id: 'req-1',
      problems: [{ path: 'name', rule: 'rule', message: 'is taken', hint: 'by label 7' }],
    });
    expect(out).toBe('');
  },
);

test('the same keys for every error, data where there is some', async () => {
  const bare = JSON.parse((await shown(usageError('wrong'), { format: 'json' })).err);
  expect(bare).toEqual({
    code: 'USAGE',
    category: 'usage',
    exit_code: 2,
    http_status: null,
    message: 'wrong',
    hint: null,
    hints: [],
    docs: expect.stringMatching(/^opsctl explain [A-Z_]+$/),
    retryable: false,
    request_id: null,
    problems: [],
  });
  const withData = JSON.parse(
    (await shown(new AppError('partial', 'some', { data: { failed: [1] } }), { format: 'json' })).err,
  );
  expect(withData).toMatchObject({ exit_code: 9, data: { failed: [1] } });
});

const systemCodes = [...Object.keys(constants.errno), 'ELINKOWNER', 'ENOTFILE'];
test.each(systemCodes)('the command in docs explains %s', async (code) => {
  const thrown = Object.assign(new Error(`${code}: /x`), { code });
  const { docs } = JSON.parse((await shown(thrown, { format: 'json' })).err);
  expect(docs).toMatch(/^opsctl explain \S+$/);
  expect(await explanationOf([docs.split(' ').at(-1)]), docs).toBeDefined();
});

describe('conversion of thrown values into a category and a hint', () => {
  test.each<[string, unknown, object]>([
    [
      'no connection',
      new NetworkError('REFUSED', 'cannot reach x', false),
      { category: 'network', detail: { code: 'NETWORK_REFUSED', retryable: true } },
    ],
    [
      'a certificate',
      new NetworkError('TLS', 'not trusted', false),
      { category: 'network', detail: { code: 'NETWORK_TLS', retryable: false } },
    ],
    ['a cancelled request', new NetworkError('ABORTED', 'cancelled', true), { category: 'interrupted' }],
    ['a cancelled wait', new DOMException('stop', 'AbortError'), { category: 'interrupted' }],
    [
      'no permission',
      Object.assign(new Error('EACCES: /x'), { code: 'EACCES' }),
      { category: 'config', detail: { code: 'EACCES' } },
    ],
    [
      'a full disk',
      Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }),
      { category: 'config', detail: { code: 'ENOSPC' } },
    ],
    [
      'a bug',
      new TypeError('x is undefined'),
      { category: 'unknown', message: 'unexpected: x is undefined' },
    ],
    ['not even an error', 'text', { category: 'unknown', message: 'unexpected: text' }],
    ['nothing', undefined, { category: 'unknown' }],
  ])('%s', (_, thrown, expected) => {
    expect(appErrorFrom(thrown)).toMatchObject(expected);
  });

  test('an expected error is unchanged', () => {
    expect(appErrorFrom(taken)).toBe(taken);
  });
});

test('a stack is shown with --verbose only, and never for an error without a cause', async () => {
  const bug = new TypeError('x is undefined', { cause: new Error('deeper') });
  expect((await shown(bug)).err).not.toContain('    at ');
  const { err } = await shown(bug, { verbose: true });
  expect(err).toContain('TypeError: x is undefined\n    at ');
  expect(err).toContain('Error: deeper');
  expect((await shown(taken, { verbose: true })).err).not.toContain('    at ');
});

test('secrets and control characters stay out, in both forms', async () => {
  const leak = new AppError('refused', 'token hidden-1 \u001b[31m refused', {
    tryThis: ['use hidden-1'],
    problems: [problem('a', 'rule', 'hidden-1')],
  });
  for (const format of [undefined, 'json'] as const) {
    const { err } = await shown(leak, { format }, { tty: ['stderr'], env: { NO_COLOR: '1' } }, 'hidden-1');
    expect(err).not.toContain('hidden-1');
    expect(err).not.toContain('\u001b');
    expect(err).toContain('***');
  }
});

test('red where color is on', async () => {
  expect((await shown(taken, { color: 'always' })).err).toContain('\u001b[31merror:\u001b[39m label x');
  expect((await shown(taken, { color: 'always', format: 'json' })).err).not.toContain('\u001b');
});

test(
  'controls of C1 and marks of direction do not stand raw in an error as JSON',
  covers('defect/S4-7'),
  async () => {
    const { err } = await shown(new AppError('usage', 'a\u009b31m\u202e\u007fb'), { format: 'json' });
    expect(err).not.toMatch(/[\u007f-\u009f\u202a-\u202e]/);
    expect(JSON.parse(err).message).toBe('a\u009b31m\u202e\u007fb');
  },
);

test('an error of a service with several lines contains no command for the runner', async () => {
  const hostile = new AppError('refused', 'bad\n::stop-commands::x', {
    problems: [problem('name', 'rule', 'is taken\n ::add-mask::y')],
    tryThis: ['see ##[set-env name=A]b'],
  });
  const { err } = await shown(hostile, {}, { env: { GITHUB_ACTIONS: 'true' } });
  expect(err).toContain('bad\n: :stop-commands::x');
  // The lines that opsctl itself writes for the runner remain.
  expect(err.split('\n').filter((line) => /^\s*::/.test(line) && !/^::error /.test(line))).toEqual([]);
  expect(err).not.toContain('##[');
});

test(
  'an error shows a limited number of problems and counts the others',
  covers('limit/shownProblems'),
  async () => {
    const many = (count: number) =>
      usageError(
        'a.yaml is invalid',
        Array.from({ length: count }, (_, i) => problem(`k${i}`, 'unknown', 'is not a known key')),
      );
    const all = await shown(many(limits.shownProblems));
    expect(all.err).toContain(`k${limits.shownProblems - 1} is not`);
    expect(all.err).not.toContain('more\n');
    const cut = await shown(many(limits.shownProblems + 1));
    expect(cut.err).not.toContain(`k${limits.shownProblems} is not`);
    expect(cut.err).toContain('… and 1 more\n');
    const json = JSON.parse((await shown(many(limits.shownProblems + 7), { format: 'json' })).err);
    expect([json.problems.length, json.problems_left_out]).toEqual([limits.shownProblems, 7]);
  },
);

test.each([
  [
    "ENOSPC: no space left on device, write '/a/b'",
    'write',
    'cannot write "/a/b": no space left on device (ENOSPC)',
  ],
  [
    'ENOSPC: no space left on device, write',
    'write',
    'cannot write to standard output: no space left on device (ENOSPC)',
  ],
  ["EACCES: permission denied, scandir '/a'", 'scandir', 'cannot read "/a": permission denied (EACCES)'],
  [
    "EACCES: permission denied, rename '/a' -> '/b'",
    'rename',
    'cannot rename "/a" to "/b": permission denied (EACCES)',
  ],
  [
    `ENAMETOOLONG: name too long, open '${'a'.repeat(401)}'`,
    'open',
    `cannot open "${'a'.repeat(400)}…": name too long (ENAMETOOLONG)`,
  ],
  ['EMFILE: too many open files', undefined, 'EMFILE: too many open files'],
])('the error %j of the operating system names what failed', (message, syscall, sentence) => {
  const code = message.split(':')[0];
  expect(appErrorFrom(Object.assign(new Error(message), { code, syscall }))).toMatchObject({
    message: sentence,
    detail: { code },
  });
});

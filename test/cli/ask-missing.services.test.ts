/** opsctl prompts for the missing parts of a command line and shows the whole line, but only on a terminal. */
import { beforeAll, describe, expect, it } from 'vitest';
import { missingInputs, withAnswers, type MissingInput } from '../../src/cli/ask-missing.ts';
import { defineCommand } from '../../src/cli/command.ts';
import { oneOf, req, str } from '../../src/core/field.ts';
import { problem, usageError } from '../../src/core/problem.ts';
import { nothing } from '../../src/core/result.ts';
import type { Host } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { covers } from '../support/covers.ts';

let home: string;
beforeAll(async () => {
  home = makeDirectory();
  expect((await opsctl(['tracker', 'labels', 'create', '--name', 'bug'], { home })).code).toBe(0);
});

type Asked = { question: string; labels?: string[] };
/** A machine whose user at the terminal enters these responses. */
const attended =
  (answers: (string | boolean)[], asked: Asked[], tty = true) =>
  (host: Host): Host => {
    const next = (one: Asked): string | boolean => {
      asked.push(one);
      const answer = answers.shift();
      if (answer === undefined) throw new Error(`nobody expected: ${one.question}`);
      return answer;
    };
    const { terminal } = host;
    return {
      ...host,
      terminal: {
        ...terminal,
        stdin: { ...terminal.stdin, isTty: tty },
        stderr: Object.create(terminal.stderr, { isTty: { value: tty } }),
        prompts: {
          confirm: async (question) => next({ question }) as boolean,
          text: async (question) => next({ question }) as string,
          select: async (question, choices) =>
            next({ question, labels: choices.map(({ label }) => label) }) as string,
        },
      },
    };
  };
const asking = async (
  line: string,
  answers: (string | boolean)[],
  env: Record<string, string> = {},
  tty = true,
) => {
  const asked: Asked[] = [];
  const ran = await opsctl(line.split(' '), {
    home,
    env: { CI: '', ...env },
    host: attended(answers, asked, tty),
  });
  return { ...ran, asked };
};

describe('a missing value', () => {
  it('opsctl prompts for a missing value and then shows the complete command', async () => {
    const { code, stderr, asked } = await asking('tracker labels create --color #ff0000', ['two words']);
    expect([code, asked.map(({ question }) => question)]).toEqual([
      0,
      [expect.stringMatching(/\(--name\):$/)],
    ]);
    expect(stderr).toContain(
      "The same without questions: opsctl tracker labels create --name 'two words' --color '#ff0000'",
    );
  });
  it('a missing record is selected from the existing ones, with their titles', async () => {
    const { code, stderr, asked } = await asking('tracker labels get', ['bug']);
    expect([code, asked[0]?.labels]).toEqual([
      0,
      expect.arrayContaining([expect.stringMatching(/^bug {2}\(\d+\)$/)]),
    ]);
    expect(stderr).toContain('The same without questions: opsctl tracker labels get bug');
  });
  it('opsctl prompts again when the row rejects the value', async () => {
    const { code, asked, stderr } = await asking('tracker labels create', ['x'.repeat(129), 'fits']);
    expect([code, asked.length]).toEqual([0, 2]);
    expect(stderr).toContain('--name must have at most 128 characters');
  });
  it('the whole command is also shown after an error of the service', async () => {
    const { code, stderr } = await asking('tracker labels create', ['bug']);
    expect(code).toBe(5);
    expect(stderr).toContain('opsctl tracker labels create --name bug');
  });
  it.each([
    ['--no-input', 'tracker labels create --no-input', {}, true],
    ['--yes', 'tracker labels create --yes', {}, true],
    ['CI', 'tracker labels create', { CI: 'true' }, true],
    ['a pipe', 'tracker labels create', {}, false],
    ['a wrong value beside it', 'tracker labels create --color red', {}, true],
  ])('opsctl never prompts with %s', covers('spec/program#output-2'), async (_, line, env, tty) => {
    const { code, asked, stderr } = await asking(line, ['never'], env as Record<string, string>, tty);
    expect([code, asked]).toEqual([2, []]);
    expect(stderr).not.toContain('without questions');
  });
  it('a complete line is unchanged', async () => {
    const { stderr, asked } = await asking('tracker labels list', []);
    expect([asked, stderr]).toEqual([[], expect.not.stringContaining('without questions')]);
  });
});

describe('missing values', () => {
  const command = defineCommand({
    path: ['x'],
    summary: '',
    flags: { kind: { field: req(oneOf('a', 'b')), summary: 'Kind' } },
    args: [{ name: 'file', field: req(str()), summary: 'File' }],
    run: async () => nothing(),
  });
  it('the missing values are those that every problem of the error names', () => {
    const missing = [
      problem('--kind', 'required', 'is required'),
      problem('<file>', 'required', 'is required'),
    ];
    expect(missingInputs(command, usageError('x', missing)).map(({ name }) => name)).toEqual([
      'kind',
      'file',
    ]);
    expect(
      missingInputs(command, usageError('x', [...missing, problem('--kind', 'enum', 'must be')])),
    ).toEqual([]);
    expect(
      missingInputs(command, usageError('x', [problem('--body.name', 'required', 'is required')])),
    ).toEqual([]);
    expect(missingInputs(command, new Error('x'))).toEqual([]);
  });
  it('an entered value is placed where the parser accepts it', () => {
    const [kind, file] = missingInputs(
      command,
      usageError('x', [problem('--kind', 'required', ''), problem('<file>', 'required', '')]),
    ) as [MissingInput, MissingInput];
    expect(
      withAnswers(
        ['-q'],
        [
          [kind, 'a'],
          [file, 'f'],
        ],
      ),
    ).toEqual(['--kind', 'a', '-q', 'f']);
    expect(
      withAnswers(
        [],
        [
          [kind, '-5'],
          [file, '-f'],
        ],
      ),
    ).toEqual(['--kind=-5', '--', '-f']);
  });
});

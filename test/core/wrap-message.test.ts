import { describe, expect, test } from 'vitest';
import { makeShowAdvice, next } from '../../src/core/next.ts';
import { AppError } from '../../src/core/problem.ts';
import { renderError } from '../../src/output/error.ts';
import { makeLogger } from '../../src/output/logger.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { fakeHost } from '../support/fake-host.ts';
import {
  messageColumns,
  wrapDrawing,
  wrapMessage,
  wrapMessages,
  wrapQuestion,
} from '../../src/core/format.ts';

const lines = (text: string): string[] => wrapMessage(text, 40, '  ').split('\n');

describe('a message wider than the terminal', () => {
  test('is wrapped between words', () => {
    expect(lines('warning: the file of the label cannot be applied to this service')).toEqual([
      'warning: the file of the label cannot be',
      '  applied to this service',
    ]);
    expect(lines('short')).toEqual(['short']);
  });
  test.each([
    ['a command of the program', 'opsctl mock kv start --again --dir /tmp/a-long-directory'],
    ['a quoted argument', `opsctl tracker labels create --name 'to do, or not; for now' --yes`],
    ['code in backticks', '`some program with several arguments of its own`'],
  ])('keeps %s on one line', (_, command) => {
    const text = `the cluster has stopped; ${command}, to continue with its data and its versions`;
    expect(lines(text).some((line) => line.includes(command))).toBe(true);
    expect(lines(text).at(-1)).toMatch(/^ {2}.{1,38}$/);
    expect(
      lines(text)
        .map((line) => line.trim())
        .join(' '),
    ).toBe(text);
  });
  test('keeps a flag next to its value', () => {
    for (let width = 20; width < 60; width++)
      expect(
        wrapMessage('name the member of the cluster with --member NAME or --all first', width, ''),
      ).toContain('--member NAME');
  });
  test('leaves a line for a shell as it is', () => {
    const line = '  try: iconv -f WINDOWS-1252 -t UTF-8 rows.csv > rows.csv.utf8';
    expect(wrapMessage(line, 40, '    ')).toBe(line);
  });
  test.each([
    'With --prefix: a snapshot of the cluster, or a revision of it',
    'add --restart to start again, or --resume to continue the run',
  ])('breaks prose that starts with a word and a flag: %s', (text) => {
    expect(lines(text).every((line) => line.length <= 40)).toBe(true);
  });
  test('breaks prose that has the name of the program as its subject', () => {
    expect(lines('opsctl uses only the embedded services until a real service is configured')).toHaveLength(
      2,
    );
  });
  test('stays whole if it has millions of characters', () => {
    const text = `opsctl kv put ${'"x" '.repeat(5_000_000)}`;
    expect(wrapMessage(text, 40, '  ') === text).toBe(true);
  });
  test('keeps the indentation of each line', () => {
    expect(wrapMessages('head\n  one two three four five six', 19)).toBe(
      'head\n  one two three\n    four five six',
    );
  });
});

describe('a text that a command drew', () => {
  test('has its prose wrapped, whatever its color', () => {
    const colored = '  \u001b[33mnote:\u001b[39m the label stays disabled until you enable it';
    expect(wrapDrawing(colored, 36).split('\n')).toEqual([
      '  \u001b[33mnote:\u001b[39m the label stays disabled',
      '    until you enable it',
    ]);
  });
  test.each(['$ kill -TERM "$(cat /tmp/a/b/c/d.pid)"', '+ --initial-cluster n1=http://a n2=http://b'])(
    'keeps %s on one line, because a person copies it',
    (line) => {
      expect(wrapDrawing(`      ${line}`, 20)).toBe(`      ${line}`);
    },
  );
  const copied = [
    "ssh root@h 'systemctl stop etcd && mv /var/lib/etcd /var/lib/etcd.old'",
    'docker run quay.io/coreos/etcd:v3.4.1 etcdctl version --endpoints http://a:2379',
    'ETCDCTL_API=3 etcdctl member list --endpoints=http://a:2379,http://b:2379',
  ];
  test.each(copied)('keeps the command %s on one line', (line) => {
    expect(wrapDrawing(`  ${line}`, 40)).toBe(`  ${line}`);
    expect(wrapDrawing(`run this command on n1: ${line}, then continue with n2`, 40)).toContain(line);
  });
  test.each([`"a path with spaces/and more spaces"`, `'a key with spaces and more spaces'`])(
    'does not break inside %s',
    (quoted) => {
      const text = `the cluster's members do not have ${quoted} of the leader's directory`;
      for (let width = 20; width < 60; width++) expect(wrapDrawing(text, width)).toContain(quoted);
    },
  );
  test('breaks prose about a variable or a program', () => {
    for (const text of [
      'OPSCTL_COLOR=1 is set in the environment of this run, and is not used',
      'docker cannot start the container of the member, and reports an error',
    ])
      expect(wrapDrawing(text, 40)).toContain('\n');
  });
});

const step = next(['kv', 'resume', '--cluster', '/very/long/path/cluster.yaml'], 'to continue the run');
test('the words of a command that is data stay together, and its reason wraps', () => {
  const show = makeShowAdvice((command) => `opsctl ${command.join(' ')}`);
  expect(wrapMessage(`try: ${show(step, true)} of this cluster`, 50, '  ')).toBe(
    `try:\n  opsctl kv resume --cluster /very/long/path/cluster.yaml\n  to continue the run of this cluster`,
  );
  expect(wrapMessage(show(step, true), Number.POSITIVE_INFINITY, '')).toBe(show(step));
});

const long = `the cluster ${'does not respond '.repeat(8)}again`;
const said = async (world: Parameters<typeof fakeHost>[0], secret?: string): Promise<string> => {
  const host = fakeHost(world);
  const redactor = makeRedactor();
  if (secret !== undefined) redactor.hide(secret);
  const options = { header: true, quiet: false, verbose: false };
  makeLogger(host, options, redactor).warn(long);
  await renderError(new AppError('network', long, { tryThis: [step, long] }), options, host, redactor);
  return host.err();
};
const tty = { tty: ['stdout', 'stderr'] as const, columns: 60 };
test('messages and errors fit the terminal, and are one line in a pipe and in CI', async () => {
  const onTerminal = await said({ ...tty, env: { NO_COLOR: '1' } });

  expect(onTerminal.split('\n').filter((line) => line.length > 60)).toEqual([]);
  for (const world of [{ ...tty, env: { NO_COLOR: '1', CI: 'true' } }, { env: { COLUMNS: '60' } }])
    expect((await said(world)).split('\n').filter((line) => line.includes('again'))).toHaveLength(3);
});
test('a secret with spaces is hidden before its line is wrapped', async () => {
  const text = await said({ ...tty, env: { NO_COLOR: '1' } }, 'respond does not respond');
  expect(text.replaceAll(/\s+/g, ' ')).not.toContain('respond does not respond');
});
test('a terminal without a size has 80 places', () => {
  expect(messageColumns({ isTty: true, columns: 0 }, {})).toBe(80);
  expect(messageColumns({ isTty: false, columns: 60 }, {})).toBe(Number.POSITIVE_INFINITY);
});
test('a long word with many hyphens is read in one pass', () => {
  const word = '--a'.repeat(6000);
  expect(wrapMessage(`invalid value ${word}`, 40, '  ').split('\n')).toEqual(['invalid value', `  ${word}`]);
});
test('a question breaks at words and leaves room for its choices', () => {
  const question =
    'Upgrade cluster "orders" from 3.2 to 3.3, one member after the other? Type the cluster name to confirm:';
  const shown = wrapQuestion(question, 60).split('\n');
  expect(shown.length).toBeGreaterThan(1);
  expect(shown.every((line) => line.length <= 50)).toBe(true);
  expect(shown.map((line) => line.trim()).join(' ')).toBe(question);
  expect(wrapQuestion('Delete it?', 60)).toBe('Delete it?');
  expect(wrapQuestion(question, 0)).toBe(wrapQuestion(question, 80));
});

import { describe, expect, it } from 'vitest';
import { lintStarts } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import { readSource } from '../../../../src/kv/upgrade/configuration/sources.ts';
import { insertText, readEnvironment } from '../../../../src/kv/upgrade/configuration/variables.ts';
import { environmentTexts } from '../../../support/environment-texts.ts';
import { naming } from '../../../support/facts.ts';

const noFiles = { read: async () => undefined, list: async () => [] };
const lint = async (text: string, files: Record<string, string> = {}) => {
  const reader = { read: async (path: string) => files[path], list: async () => [] };
  const { starts } = await readSource(text, '/d/f', reader);
  return lintStarts(starts, '3.3').map(({ level, key, message }) => `${level} ${key} ${message}`);
};
const notes = async (text: string) =>
  (await readSource(text, '/f', noFiles)).starts[0]?.notes?.map(({ key, message }) => `${key}: ${message}`);

describe('a file of EnvironmentFile=', () => {
  it.each(environmentTexts)('is read as systemd reads it: %j', (text, env) => {
    expect(readEnvironment(text, '/e', 'systemd').env).toEqual(env);
  });
  it('names the line of each assignment, behind values of several lines', () => {
    const text = '# a\nA=1,\\\n2\n\nB="x\ny"\nC=3\n';
    expect([...readEnvironment(text, '/e').origins].map(([key, { line }]) => [key, line])).toEqual([
      ['A', 2],
      ['B', 5],
      ['C', 7],
    ]);
  });
});

describe('an environment file', () => {
  it('may continue a value on the next line and in quotes, without a note', async () => {
    const text =
      'ETCD_LISTEN_CLIENT_URLS=http://10.0.0.1:2379,\\\nhttp://127.0.0.1:2379\nETCD_ADVERTISE_CLIENT_URLS=http://h:1\nETCD_CORS="http://a:1,\\\nhttp://b:2"\n';
    expect(await lint(text)).toEqual([]);
    expect(await lint('[Service]\nEnvironmentFile=/e\nExecStart=/usr/bin/etcd\n', { '/e': text })).toEqual(
      [],
    );
  });
  it.each([
    ['ETCD_NAME = n1\n', naming('ETCD_NAME', 'space')],
    ['ETCD_NAME="n1\nETCD_LOGGER=zap\n', naming('ETCD_NAME', 'quote', 1)],
    ['# old: \\\nETCD_NAME=n1\n', naming('ETCD_NAME', 'backslash')],
    ['ETCD_NAME=a\\\nb\nETCD_LOGGER=zap\netcd\netcd2\n', naming(4, 'assignment')],
  ])('is reported where its readers differ: %j', async (text, note) => {
    expect(await notes(text)).toEqual([note]);
  });
  it('is not a note for a comment with two backslashes, or with a blank line behind it', async () => {
    expect(await notes('# a \\\\\nETCD_NAME=n1\n# b \\\n\nETCD_LOGGER=zap\n')).toEqual([]);
  });
});

/** A pattern that repeats a group exhausts its stack in a text of some megabytes. */
it.each([
  ['"', '\\"', '"'],
  ["'", 'x', "'"],
  ['', '\\a', ''],
  ['', 'a\\\n', ''],
])('reads an environment file of megabytes: %j, then %j', (open, part, close) => {
  const text = `# ${'\\'.repeat(4_000_001)}\nA=${open}${part.repeat(4_000_000)}${close}\nB=2\n`;
  const { env } = readEnvironment(text, 'e', 'systemd');
  expect(env['B']).toBe('2');
  expect(env['A']).toHaveLength(4_000_000);
});

describe('a shell script', () => {
  it('is checked by the command that it runs with the variables that it exports', async () => {
    const text =
      '#!/bin/sh\n. /etc/default/etcd\nexport ETCD_LOGGER=zap\nexec /usr/bin/etcd --bogus=1 \\\n  --name="$HOST"\n';
    expect((await lint(text)).map((row) => row.split(' is ')[0])).toEqual([
      'fail --bogus',
      'warn ETCD_LOGGER',
      'warn /etc/default/etcd',
      'warn variable HOST',
    ]);
  });
  it('is refused if it starts no server', async () => {
    await expect(lint('#!/bin/bash\nexport ETCD_NAME=n1\nexec sleep 1\n')).rejects.toMatchObject({
      message: naming('/d/f', 'script'),
      detail: {
        tryThis: [naming('environment'), naming('kv check')],
      },
    });
  });
  it('in a container inserts the variables of the container, and others are unread', async () => {
    const text = `services:
  e:
    environment: {ETCD_DATA: /d, LEVEL: bogus}
    command: sh -c 'etcd --log-level=$$LEVEL --name=$\${HOSTNAME}'
`;
    const reader = { read: async () => undefined, list: async () => [] };
    const { starts } = await readSource(text, '/d/f', reader);
    expect(starts[0]?.words).toEqual(['etcd', '--log-level=bogus', '--name=${HOSTNAME}']);
    expect(starts[0]?.unread).toEqual(['variable HOSTNAME']);
  });
});

describe('values of a compose file', () => {
  const inserted = async (value: string, dotenv = '') => {
    const text = `services:\n  e:\n    environment:\n      - ${JSON.stringify(`ETCD_NAME=${value}`)}\n      - ETCD_LOGGER\n`;
    const reader = {
      read: async (path: string) => (path === '/d/.env' ? dotenv : undefined),
      list: async () => [],
    };
    const { starts } = await readSource(text, '/d/f', reader);
    return [starts[0]?.env['ETCD_NAME'], ...(starts[0]?.unread ?? [])];
  };
  it.each([
    ['${A:-${B:-x}}', '', 'x'],
    ['${A:-${B:-x}}', 'B=b', 'b'],
    ['${A:-${B:-x}}', 'A=a', 'a'],
    ['a${A:-{x}}-${B-${C-}y}z', '', 'a{x}-yz'],
    ['${A:+${B:-x}}', 'A=1', 'x'],
    ['${A:+${B:-x}}', '', ''],
    ['$$A $ 5', 'A=1', '$A $ 5'],
  ])('%s with %j', async (value, dotenv, result) => {
    expect(await inserted(value, `${dotenv}\nETCD_LOGGER=zap`)).toEqual([result]);
  });
  it.each([
    ['${A:-${B}}', 'variable B'],
    ['${A:-${B:?needed}}', 'variable B'],
    ['$A', 'variable A'],
    ['${1bad}', 'variable ${1bad}'],
  ])('%s without a value is unread', async (value, unread) => {
    expect(await inserted(value, 'ETCD_LOGGER=zap')).toEqual([expect.stringContaining('$'), unread]);
  });
  it('a name without a value comes from .env, and is unread without it', async () => {
    expect(await inserted('n1')).toEqual(['n1', 'variable ETCD_LOGGER']);
  });
  it('a value of any length and depth is read, or reported', async () => {
    expect((await inserted('${A:-'.repeat(150) + 'x' + '}'.repeat(150), 'ETCD_LOGGER=zap'))[0]).toBe('x');
    expect(await inserted(`${'x'.repeat(100_000)}$A`, 'ETCD_LOGGER=zap')).toEqual([
      expect.any(String),
      expect.stringContaining('characters'),
    ]);
  });
});

it('a manifest inserts variables into variables, and keeps what is escaped', async () => {
  const text = `apiVersion: v1
kind: Pod
spec:
  containers:
  - name: etcd
    env: [{name: A, value: a}, {name: B, value: "$(A)b$(C)"}, {name: C, value: c}]
    command: [etcd, "--name=$(B)", "--data-dir=/$$(A)"]
`;
  const { starts } = await readSource(text, '/f', noFiles);
  expect(starts[0]?.words).toEqual(['etcd', '--name=ab$(C)', '--data-dir=/$(A)']);
});

const sourceOf = (text: string, path = 'f', format?: 'env') =>
  readSource(text, path, { read: async () => undefined, list: async () => [] }, format);
describe('files that could be read in two ways', () => {
  it.each([
    'ETCD_NAME=a \\\netcd --enable-v2=true --data-dir=/x\n',
    '#!/bin/sh\nETCD_NAME=a \\\n  etcd --name b\n',
  ])('assignments in front of a command are no environment file: %j', async (text) => {
    const { format, starts } = await sourceOf(text);
    expect(format).toBe('command');
    expect(starts[0]?.words[0]).toBe('etcd');
    expect((await sourceOf(text, 'f', 'env')).format).toBe('env');
  });
  it('a first line with #! makes a file a script only if it names a program and the file runs commands', async () => {
    const pod =
      'apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - {name: e, command: [etcd, --name=a]}\n';
    expect((await sourceOf(`#! a comment of ytt\n${pod}`)).format).toBe('pod');
    expect((await sourceOf('#!/bin/sh\nETCD_NAME=a\n')).format).toBe('env');
    expect((await sourceOf('#!/bin/sh\nETCD_NAME=a\nexec etcd --name a\n')).format).toBe('command');
  });
  it('a shell splits the value of a variable that is a whole word', async () => {
    const pod = (value: string, script: string) =>
      `apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: e\n      env: [{name: EXTRA, value: "${value}"}]\n      command: [sh, -c, "${script}"]\n`;
    const { starts } = await sourceOf(
      pod('--auto-tls  --enable-v2=true', 'exec etcd --name=a $EXTRA --debug'),
    );
    expect(starts[0]?.words).toEqual(['etcd', '--name=a', '--auto-tls', '--enable-v2=true', '--debug']);
  });
  it('quotes keep the value of a variable in one word', async () => {
    const pod = `apiVersion: v1
kind: Pod
spec:
  containers:
    - name: e
      env: [{name: TOK, value: my token}, {name: NONE, value: ''}, {name: EXTRA, value: --a --b}]
      command: [sh, -c, 'exec etcd --initial-cluster-token "$TOK" --listen-metrics-urls "$NONE" "\${EXTRA}"']
`;
    expect((await sourceOf(pod)).starts[0]?.words).toEqual([
      ...['etcd', '--initial-cluster-token', 'my token', '--listen-metrics-urls', '', '--a --b'],
    ]);
  });
  it('literal dollar signs of a command line are no variables', async () => {
    const { starts } = await sourceOf(`etcd --name $A --initial-cluster-token 'p$word' --data-dir "a\\$b"\n`);
    expect(starts[0]?.unread).toEqual(['variable A']);
  });
});

describe('files that compose and podman read', () => {
  const text = 'ETCD_DATA_DIR=C:\\\nETCD_ENABLE_V2=true\n';
  it('a backslash at the end of a value continues it for systemd only', () => {
    expect(readEnvironment(text, 'e', 'container').env).toEqual({
      ETCD_DATA_DIR: 'C:\\',
      ETCD_ENABLE_V2: 'true',
    });
    expect(Object.keys(readEnvironment(text, 'e', 'systemd').env)).toEqual(['ETCD_DATA_DIR']);
  });
  it('a file with an open quote is listed as unread', async () => {
    const compose = 'services:\n  e:\n    env_file: e.env\n    command: etcd --name a\n';
    const reader = {
      read: async (path: string) => (path.endsWith('e.env') ? 'ETCD_NAME="a\nETCD_DEBUG=1\n' : undefined),
      list: async () => [],
    };
    const { starts } = await readSource(compose, '/d/compose.yaml', reader);
    expect(starts[0]?.unread.some((one) => one.startsWith('/d/e.env '))).toBe(true);
  });
  it('a long value without a variable is read', () => {
    const unread = new Set<string>();
    expect(insertText('x'.repeat(9000), { env: {}, unread })).toHaveLength(9000);
    expect([...unread]).toEqual([]);
  });
});

it('repeated keys are named without their values, and their number costs linear time', async () => {
  const config = async (content: string) => (await sourceOf(content, 'c.yml')).starts[0]?.notes ?? [];
  const secret = 'name: a\ndiscovery-password: hunter2\ndiscovery-password: hunter3\n';
  expect(JSON.stringify(await config(secret))).not.toContain('hunter');
  expect((await config(secret))[0]).toMatchObject({
    key: 'discovery-password',
    message: naming(2, 3),
  });
  expect((await config('client-transport-security: {cert-file: /a, cert-file: /b}\n'))[0]?.message).toEqual(
    naming(2, 1),
  );
  const many = (await config('name: a\n'.repeat(3000)))[0];
  expect(many?.message).toEqual(naming(1, 3000));
});

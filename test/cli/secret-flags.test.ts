/** No secret is an argument of a process: commands read secrets from files, standard input or a prompt. */
import { expect, test } from 'vitest';
import { parseCommand } from '../../src/cli/parse.ts';
import { groups } from '../../src/commands/program.ts';
import { knownKey } from '../../src/config/store.ts';
import { bare } from '../../src/core/field.ts';
import { isSecretName } from '../../src/core/redact-secrets.ts';
import { trackerInMemory } from '../support/in-memory.ts';

const SECRET = 'marker-3f9a77';
const create = ['webhooks', 'create', '--webhook-url', 'https://hooks.example/in'];

test('webhooks create reads the secret from a file, from standard input and from a prompt', async () => {
  const at = trackerInMemory({ 'hook.txt': `${SECRET}\n` });
  const file = await at.run([...create, '--secret-file', 'hook.txt']);
  const piped = await at.run([...create, '--secret-file', '-'], { stdin: `${SECRET}\n` });
  const typed = await at.run([...create, '--secret-file', '-'], {
    tty: ['stdin', 'stdout', 'stderr'],
    answers: [SECRET],
  });
  for (const { code, writes, out, err } of [file, piped, typed]) {
    expect(code).toBe(0);
    expect(writes[0]?.body).toEqual({ webhook_url: 'https://hooks.example/in', secret: SECRET });
    expect(out + err).not.toContain(SECRET);
  }
});
test('webhooks create rejects a secret on the command line, and names the flag for its file', async () => {
  const at = trackerInMemory();
  const flag = await at.run([...create, '--secret', SECRET, '-o', 'json']);
  const body = await at.run([
    ...['webhooks', 'create', '--body', `{"webhook_url":"https://hooks.example/in","secret":"${SECRET}"}`],
    ...['-o', 'json'],
  ]);
  for (const { code, requests, err } of [flag, body]) {
    expect([code, requests]).toEqual([2, []]);
    expect(err).toContain('--secret-file');
    expect(err).not.toContain(SECRET);
  }
});
test('a body in a file may contain the secret', async () => {
  const at = trackerInMemory({
    'hook.json': `{"webhook_url":"https://hooks.example/in","secret":"${SECRET}"}`,
  });
  const { code, writes } = await at.run(['webhooks', 'create', '--body', '@hook.json']);
  expect([code, writes[0]?.body.secret]).toEqual([0, SECRET]);
});
test('webhooks create rejects a file with an empty or too long secret', async () => {
  const at = trackerInMemory({ 'empty.txt': '\n', 'long.txt': 'x'.repeat(129) });
  for (const name of ['empty.txt', 'long.txt']) {
    const { code, requests, err } = await at.run([...create, '--secret-file', name, '-o', 'json']);
    expect([code, requests]).toEqual([2, []]);
    expect(err).toContain('--secret-file');
  }
});

/** Credentials of the mock server, which are published in its demo data. */
const mockOnly = /^mock /;
test('no flag or argument accepts a secret as its value', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const parts = commands.flatMap(({ path, flags = {}, args = [] }) => [
    ...Object.entries(flags).map(([name, part]) => ({ at: `${path.join(' ')} --${name}`, name, part })),
    ...args.map((part) => ({ at: `${path.join(' ')} <${part.name}>`, name: part.name, part })),
  ]);
  const faults = parts.filter(({ at, name, part }) => {
    const inner = bare(part.field);
    const isText = inner.type === 'string' && inner.enum === undefined;
    const value = 'value' in part ? (part.value ?? '') : '';
    return isText && isSecretName(name) && !/file|command/.test(value) && !mockOnly.test(at);
  });
  expect(faults.map(({ at }) => at)).toEqual([]);
});

test('no message about a command line repeats a text that may be a secret', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const faults: string[] = [];
  let count = 0;
  for (const command of commands) {
    const { path, args = [], flags = {} } = command;
    const surplus = args.some(({ rest }) => rest) ? [] : [[...args.map(() => 'x'), SECRET, SECRET]];
    const switches = Object.entries(flags)
      .filter(([, { field }]) => bare(field).type === 'boolean')
      .map(([name]) => [`--${name}=${SECRET}`]);
    for (const tokens of [...surplus, ...switches, [`--nosuchflag=${SECRET}`], [`-p${SECRET}`]]) {
      count += 1;
      const error: unknown = await parseCommand(command, tokens).then(
        () => undefined,
        (cause: unknown) => cause,
      );
      const { message = '', detail } = (error ?? {}) as { message?: string; detail?: object };
      if (error === undefined || `${message}${JSON.stringify(detail)}`.includes(SECRET))
        faults.push(`${path.join(' ')} ${tokens.join(' ')}: ${message}`);
    }
  }
  expect(faults).toEqual([]);
  expect(count).toBeGreaterThan(1500);
});
test.each(['tracker.token=', 'tracker-token:', 'OPSCTL_TRACKER_TOKEN=', 'nosuch=', 'tracker.url '])(
  'a value in the name of a setting is not in the message: %s',
  (name) => {
    let message = '';
    try {
      knownKey(`${name}${SECRET}`);
    } catch (error) {
      message = `${error}${JSON.stringify(error)}`;
    }
    expect(message).toContain('Error');
    expect(message).not.toContain(SECRET);
  },
);

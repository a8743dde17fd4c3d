import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { errorOf } from '../support/facts.ts';

let home: Program;
let serving: ReturnType<Program['start']>;
beforeEach(async () => {
  home = program();
  serving = home.start(['mock', 'serve', '--labels-auth', 'oauth', '-o', 'json']);
  await serving.first;
});
afterEach(async () => {
  serving.kill('SIGTERM');
  await serving.ended;
});

/** The error object that -o json writes on stderr. */
const refusal = async (...argv: string[]) => {
  const { code, stderr } = await home.run([...argv, '-o', 'json']);
  return { code, ...errorOf({ stderr }) };
};
const works = async (...argv: string[]): Promise<void> => {
  const { code, stderr } = await home.run(argv);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
};
/** Returns the command line of a hint as a user types it. */
const typed = (hint: string): string[] => hint.split('; ')[0]?.split(' ').slice(1) ?? [];

it('every error about a missing scope names it, and its command is sufficient', async () => {
  const nobody = await refusal('labels', 'list');
  expect(nobody).toMatchObject({
    code: 'NOT_SIGNED_IN',
    exit_code: 4,
    hint: 'opsctl login --add-scope labels.readonly',
  });
  await works(...typed(nobody.hint));
  await works('labels', 'list');
  const make = ['labels', 'create', '--label-type', 'SHARED', '--title', 'Mine'];
  const reader = await refusal(...make);
  expect(reader).toMatchObject({
    code: 'MISSING_SCOPE',
    exit_code: 4,
    http_status: 403,
    message: expect.stringContaining('/labels, '),
  });
  expect(reader.hint).toMatch(/^opsctl login --add-scope https:\/\/\S+\/labels$/);
  expect((await refusal('api', 'labels', 'POST', '/labels', '--body', '{}')).hint).toBe(reader.hint);
  await works(...typed(reader.hint));
  await works(...make);
  const plain = await refusal('labels', 'list', '--admin');
  expect(plain.hint).toMatch(/^opsctl login --add-scope https:\/\/\S+\/admin\.labels\.readonly$/);
  await works(...typed(plain.hint));
  await works('labels', 'list', '--admin');
  expect((await refusal('labels', 'publish', 'Mine', '--admin', '--yes')).hint).toMatch(/\/admin\.labels$/);
});

it('a token that the service calls expired while it looks good from here is renewed once', async () => {
  await works('login', '--add-scope', 'labels');
  await works('mock', 'clock', 'advance', '2h');
  await works('labels', 'create', '--label-type', 'SHARED', '--title', 'Mine');
  await works('labels', 'export', '--all');
});

it('the token of the embedded server never goes to another one', async () => {
  await works('login', '--add-scope', 'labels');
  const asked: string[] = [];
  const other = createServer((request, reply) => {
    asked.push(String(request.headers.authorization));
    reply.setHeader('content-type', 'application/json');
    reply.end('{}');
  });
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  try {
    const env = { OPSCTL_LABELS_URL: `http://127.0.0.1:${(other.address() as AddressInfo).port}` };
    const { code, stderr } = await home.run(['labels', 'list'], { env });
    expect([code, stderr]).toEqual([4, expect.stringContaining('signed in at the embedded server only')]);
    expect(asked).toEqual([]);
  } finally {
    other.close();
  }
});

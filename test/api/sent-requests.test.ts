import { describe, expect, test } from 'vitest';
import { type InMemory, type RunOptions, trackerInMemory } from '../support/in-memory.ts';

const DIRECTORY = '/home/user/opsctl/state/mock/sent';
const create = ['epics', 'create', '--name', 'Login', '-o', 'json'];
/** The service applies the request, and its response gets lost. */
const losing = (at: InMemory): RunOptions => ({
  meanwhile: ({ method, path, body }) => {
    if (method !== 'POST') return undefined;
    at.send(method, path, body);
    return { status: 503, json: {} };
  },
});
const countOf = (at: InMemory): number => at.send('GET', '/epics').length;
const filesOf = async (at: InMemory): Promise<readonly string[]> => at.list(DIRECTORY).catch(() => []);

describe('a create whose response was lost', () => {
  test('is not sent again without --send-again', async () => {
    const at = trackerInMemory();
    expect((await at.run(create, losing(at))).code).toBe(11);
    const again = await at.run(create);
    expect(again).toMatchObject({ code: 10, writes: [] });
    expect(again.error()).toMatchObject({ code: 'UNFINISHED_REQUEST', data: { applied: 'unknown' } });
    expect(again.err).toContain('opsctl tracker epics list');
    expect(countOf(at)).toBe(1);
  });
  test('is sent once with --send-again, and the next create is free', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run([...create, '--send-again'])).code).toBe(0);
    expect((await at.run(create)).code).toBe(0);
    expect(countOf(at)).toBe(3);
  });
  test.each([
    { answer: false, code: 10, count: 1 },
    { answer: true, code: 0, count: 2 },
  ])('asks a person, and the answer $answer ends with $code', async ({ answer, code, count }) => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    const asked = await at.run(create, { tty: ['stdin', 'stderr'], answers: [answer] });
    expect(asked.code).toBe(code);
    expect(asked.asked).toHaveLength(1);
    expect(countOf(at)).toBe(count);
  });
  test('is not sent again because of --yes', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run([...create, '--yes'], { tty: ['stdin', 'stderr'] })).code).toBe(10);
  });
  test('does not hold up another body or another deployment', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run(['epics', 'create', '--name', 'Logout'])).code).toBe(0);
    expect((await at.run(create, { origin: 'https://other.example' })).code).toBe(0);
  });
  test('does not hold up a command that finds the record', async () => {
    const at = trackerInMemory();
    const ensure = ['epics', 'ensure', '--name', 'Login'];
    await at.run(ensure, losing(at));
    expect((await at.run(ensure)).code).toBe(0);
    expect(countOf(at)).toBe(1);
  });
  test('is refused by opsctl api as well', async () => {
    const at = trackerInMemory();
    const raw = ['api', 'tracker', 'POST', '/epics', '--body', '{"name":"Login"}', '-o', 'json'];
    await at.run(raw, { ...losing(at), isTopLevel: true });
    const again = await at.run(raw, { isTopLevel: true });
    expect(again.error()).toMatchObject({ code: 'UNFINISHED_REQUEST' });
    expect(countOf(at)).toBe(1);
  });
});

test('a create that succeeds or is rejected removes its file', async () => {
  const at = trackerInMemory();
  const label = ['labels', 'create', '--name', 'bug'];
  expect((await at.run(label)).code).toBe(0);
  expect((await at.run(label)).code).toBe(5);
  expect(await filesOf(at)).toEqual([]);
});
test('a create whose result could not be printed is not sent again', async () => {
  const at = trackerInMemory();
  const filtered = [...create.slice(0, -2), '--jq', '.name | error'];
  expect((await at.run(filtered)).code).not.toBe(0);
  const again = await at.run(create);
  expect(again.error()).toMatchObject({ code: 'UNFINISHED_REQUEST', data: { applied: true } });
  expect(countOf(at)).toBe(1);
});
test('an update and a search are sent again without a question', async () => {
  const at = trackerInMemory();
  const { id } = at.send('POST', '/epics', { name: 'Login' });
  const lost: RunOptions = { meanwhile: () => ({ status: 503, json: {} }) };
  for (const words of [
    ['epics', 'update', String(id), '--name', 'Sign-in'],
    ['stories', 'search'],
  ]) {
    await at.run(words, lost);
    expect((await at.run(words)).code).toBe(0);
  }
});
test('a killed command is in the audit log, and its torn last line is not a request', async () => {
  const at = trackerInMemory();
  await at.run(create, losing(at));
  const [name = ''] = await filesOf(at);
  const path = `${DIRECTORY}/${name}`;
  const [head = '', sent = ''] = (at.read(path) ?? '').split('\n');
  await at.write(path, `${head}\n${sent}\n{"ended":true}\n`);
  const shown = await at.run(['audit', '-o', 'json'], { isTopLevel: true });
  expect(shown.json().at(-1)).toMatchObject({ method: 'POST', outcome: 'unknown', status: null });
  await at.write(path, `${head}\n{"ended":true}\n${sent.slice(0, 40)}`);
  expect((await at.run(create)).code).toBe(0);
});
test('a damaged file of an earlier command is reported', async () => {
  const at = trackerInMemory();
  await at.run(create, losing(at));
  const [name = ''] = await filesOf(at);
  await at.write(`${DIRECTORY}/${name}`, 'no JSON\n');
  expect((await at.run(create)).err).toContain(name);
});

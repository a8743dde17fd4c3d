import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

let opsctl: Program;
beforeAll(async () => {
  const owner = program();
  const { tracker } = await owner.start(['mock', 'serve', '-o', 'json', '--ephemeral', '--rate-limit', 'off'])
    .first;
  opsctl = program({ OPSCTL_TRACKER_URL: tracker.base_url, OPSCTL_TRACKER_TOKEN: tracker.token });
  closing.push(owner, opsctl);
});
const closing: Program[] = [];
afterAll(async () => {
  for (const one of closing) await one.close();
});
const api = (...args: string[]) => opsctl.json(['api', 'tracker', ...args]);

test('fields make the body of a write and the query of a read', async () => {
  writeFileSync(join(opsctl.home, 'words.txt'), 'from a file');
  const epic = await api(
    'POST',
    '/epics',
    ...['-f', 'name=2026', '-F', 'description=@words.txt', '-F', 'labels[][name]=api bug'],
  );
  expect(epic).toMatchObject({ name: '2026', description: 'from a file', labels: [{ name: 'api bug' }] });
  const found = await api('GET', '/search', '-f', 'query=2026', '-F', 'page_size=1');
  expect(found.epics.data).toMatchObject([{ name: '2026' }]);
  const both = await opsctl.run(['api', 'tracker', 'POST', '/labels', '-f', 'name=x', '--body', '{}']);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--field')]);
});

test('--paginate gives the rows of all pages as one list', async () => {
  for (const name of ['a', 'b', 'c']) await api('POST', '/epics', '-f', `name=page ${name}`);
  const whole = await api('GET', '/epics');
  const pages = await api('GET', '/epics/paginated', '-F', 'page_size=1', '--paginate');
  expect(pages.map(({ id }: { id: number }) => id)).toEqual(whole.map(({ id }: { id: number }) => id));
  expect((await api('GET', '/search', '-f', 'query=page', '-F', 'page_size=1', '--paginate')).length).toBe(
    (await opsctl.json(['tracker', 'search', 'page', '--all'])).length,
  );
  const write = await opsctl.run(['api', 'tracker', 'POST', '/labels', '--paginate']);
  expect([write.code, write.stderr]).toEqual([2, expect.stringContaining('is for GET')]);
});

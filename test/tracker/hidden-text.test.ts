import { expect, test } from 'vitest';
import { trackerInMemory } from '../support/in-memory.ts';

/** Bodies with characters that nobody sees. */
const faults = [
  { name: 'A\u001b[31mred' },
  { name: 'a\u0007' },
  { name: 'a', external_id: 'K\u200b-1' },
  { name: 'a', external_id: ' K-1' },
  { name: 'a', tasks: [{ description: 't', external_id: 'T ' }] },
] as const;
const words = ['stories', 'create', '--workflow-state-id', '11', '-o', 'json'];

test.each(faults)('%j is rejected in a body of any source, in flags and in rows', async (body) => {
  const text = JSON.stringify({ ...body, workflow_state_id: 11 });
  const row = JSON.stringify({ ...body, workflow_state_id: 11, op: 'create', resource: 'stories' });
  const at = trackerInMemory({ 'body.json': text, 'r.ndjson': row });
  const flags =
    'tasks' in body ? [] : Object.entries(body).map(([key, value]) => [`--${key.replace('_', '-')}`, value]);
  const ways = [
    [...words, '--body', '@body.json'],
    [...words, '--body', text],
    ...(flags.length === 0 ? [] : [[...words, ...flags.flat()]]),
    ['bulk', '-f', 'r.ndjson', '-o', 'json'],
  ];
  for (const way of ways) {
    const ran = await at.run(way);
    expect([way, ran.code === 0, ran.writes]).toEqual([way, false, []]);
    expect(`${ran.out}${ran.err}`).toContain('remove the character');
  }
});

test('a name with a tab, a line end or an emoji is accepted in each source', async () => {
  const name = 'a\tb\r\nc 👩‍💻';
  const at = trackerInMemory({ 'body.json': JSON.stringify({ name }) });
  for (const way of [
    ['--body', '@body.json'],
    ['--name', name],
  ])
    expect((await at.run(['epics', 'create', ...way, '-o', 'json'])).json().name).toBe(name);
});

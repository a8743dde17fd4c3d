import { expect, test } from 'vitest';
import { trackerInMemory } from '../../support/in-memory.ts';

test('digits with a leading zero are a name, not an id', async () => {
  const at = trackerInMemory();
  const victim = at.send('POST', '/labels', { name: 'victim' });
  const typed = `0${victim.id}`;
  at.send('POST', '/labels', { name: typed });
  expect((await at.run(['labels', 'delete', typed, '--yes'])).code).toBe(0);
  expect(at.send('GET', '/labels').map(({ name }: { name: string }) => name)).toEqual(['victim']);
  expect((await at.run(['labels', 'delete', '007', '--yes'])).code).toBe(6);
});

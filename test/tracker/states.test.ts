import { expect, test } from 'vitest';
import { findState } from '../../src/tracker/stories.ts';

const states = [
  { id: 1, name: 'Ready', type: 'unstarted' },
  { id: 2, name: 'In Progress', type: 'started' },
  { id: 3, name: 'in-progress', type: 'started' },
  { id: 4, name: 'Done', type: 'done' },
  { id: 5, name: 'Done', type: 'done' },
];
test('a word finds the state with this ID, exact name, similar name or type', () => {
  const idOf = (word: string) => findState(states, word, 'state').id;
  expect(['5', 'In Progress', 'in-progress', 'ready', 'started'].map(idOf)).toEqual([5, 2, 3, 1, 2]);
});
test.each([
  ['Done', '4 (Done), 5 (Done)'],
  ['IN PROGRESS', '2 (In Progress), 3 (in-progress)'],
])('the name %s of two states is rejected with their IDs', (word, ids) => {
  expect(() => findState(states, word, 'state')).toThrowError(
    expect.objectContaining({
      detail: expect.objectContaining({
        problems: [expect.objectContaining({ path: 'state', message: expect.stringContaining(ids) })],
      }),
    }),
  );
});

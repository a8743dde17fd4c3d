import { expect, test } from 'vitest';
import { createResponseBarrier } from '../../src/mock-server/server.ts';

/** A loop whose turns end when the test calls `end`. */
const loop = () => {
  const ends: (() => void)[] = [];
  return {
    turn: () => new Promise<void>((resolve) => ends.push(resolve)),
    turns: () => ends.length,
    end: () => ends.at(-1)?.(),
  };
};
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('responses of one turn are sent at its end, in order; later ones at the end of the next turn', async () => {
  const { turn, turns, end } = loop();
  const left: string[] = [];
  const departed = createResponseBarrier({ turn }, undefined);
  for (const name of ['a', 'b']) void departed().then(() => left.push(name));
  await settled();
  expect(left).toEqual([]);
  end();
  await settled();
  expect(left).toEqual(['a', 'b']);
  void departed().then(() => left.push('c'));
  await settled();
  expect(left).toEqual(['a', 'b']);
  end();
  await settled();
  expect(left).toEqual(['a', 'b', 'c']);
  expect(turns()).toBe(2);
});

test('responses wait for the write of the journal and fail with it', async () => {
  const { turn, turns } = loop();
  const journal = { whenWritten: () => Promise.reject(new Error('disk full')) };
  await expect(createResponseBarrier({ turn }, journal)()).rejects.toThrow('disk full');
  expect(turns()).toBe(0);
});

test('responses without a pending write are sent at the end of the turn', async () => {
  const { turn, end } = loop();
  let hasLeft = false;
  void createResponseBarrier({ turn }, { whenWritten: () => undefined })().then(() => {
    hasLeft = true;
  });
  await settled();
  expect(hasLeft).toBe(false);
  end();
  await settled();
  expect(hasLeft).toBe(true);
});

import { expect, test } from 'vitest';
import { makeRoom } from '../../src/mock-server/server.ts';
import { covers } from '../support/covers.ts';

/** Pieces of work that finish when the test calls `end`. */
const work = (limit: number) => {
  const room = makeRoom(limit);
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, bytes: number): Promise<void> =>
    room(bytes, async () => {
      running.push(name);
      await new Promise<void>((end) => ends.set(name, end));
      running.splice(running.indexOf(name), 1);
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { start, end, turn, running };
};

test(
  'fitting work starts immediately, n and not n + 1; the rest waits in order',
  covers('defect/R-18'),
  async () => {
    const { start, end, turn, running } = work(10);
    const all = [start('a', 4), start('b', 6), start('c', 1), start('d', 1)];
    await turn();
    expect(running).toEqual(['a', 'b']);
    await end('a');
    expect(running).toEqual(['b', 'c', 'd']);
    for (const name of ['b', 'c', 'd']) await end(name);
    await Promise.all(all);
  },
);

test('work larger than the budget runs when no other work is active', async () => {
  const { start, end, turn, running } = work(10);
  const all = [start('a', 11), start('b', 1)];
  await turn();
  expect(running).toEqual(['a']);
  await end('a');
  expect(running).toEqual(['b']);
  await end('b');
  await Promise.all(all);
});

test('work that fails leaves its room', async () => {
  const room = makeRoom(1);
  await expect(room(1, () => Promise.reject(new Error('on purpose')))).rejects.toThrow('on purpose');
  expect(await room(1, async () => 'in')).toBe('in');
});

import { describe, expect, it } from 'vitest';
import { categoryOfExit, exitCodes } from '../../src/core/problem.ts';
import type { Exit, Finished, Host, Started } from '../../src/platform/host.ts';
import { type TourContext, tour } from '../../src/support/tour.ts';
import { fakeHost } from '../support/fake-host.ts';
import { partlyMade } from './context.ts';

const ended = (code: number): Exit => ({ code, signal: null });
/** Returns a context with a server that prints these lines and exits with `serverCode`. All its commands exit with `code`. */
const tripWith = (lines: readonly string[], serverCode: number, code: number, said = '', world = {}) => {
  const server = partlyMade<Started>({
    lines: async function* () {
      yield* lines;
    },
    exited: Promise.resolve(ended(serverCode)),
    kill: () => {},
  });
  const finished: Finished = { ...ended(code), stdout: '', stderr: said, timedOut: false };
  const host = fakeHost(world);
  const processes = { ...host.processes, start: async () => server, run: async () => finished };
  const context = { host: { ...host, processes } as Host, signal: new AbortController().signal };
  const trip = { context: context as unknown as TourContext['context'], directory: '/tour', env: {} };
  return { trip, out: () => host.out() };
};

describe('a tour that does not come to its end', () => {
  it('an incomplete tour exits with the code of the failed command', async () => {
    await expect(tour(tripWith(['{"ready":true}'], 0, 3).trip)).rejects.toMatchObject({
      category: 'config',
      message: 'opsctl login exited with code 3',
    });
  });
  it('ends with that of the server when it did not start', async () => {
    await expect(tour(tripWith([], 3, 0).trip)).rejects.toMatchObject({ category: 'config' });
  });
});

it('the comments and messages of the tour fit the terminal, and stay whole in a file', async () => {
  const said = `No browser is available: ${'opsctl completes the pages '.repeat(4)}`;
  const [onTerminal, inFile] = [
    tripWith(['{"ready":true}'], 0, 0, said, { tty: ['stdout'], columns: 60 }),
    tripWith(['{"ready":true}'], 0, 0, said),
  ];
  for (const { trip } of [onTerminal, inFile]) await tour(trip);
  const lines = onTerminal.out().split('\n');
  expect(lines.filter((line) => line.length > 60 && !line.startsWith('$ '))).toEqual([]);
  expect(inFile.out()).toContain(said);
});
it('every exit code except 0 maps to its category', () => {
  for (const [category, { code }] of Object.entries(exitCodes))
    if (category !== 'done') expect(categoryOfExit(code)).toBe(category);
  for (const code of [0, 99, null]) expect(categoryOfExit(code)).toBe('unknown');
});

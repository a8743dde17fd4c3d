/** A job that is interrupted at a random position and started again without a flag, as a CI system does. */
import { expect, test } from 'vitest';
import { NetworkError } from '../../../src/platform/host.ts';
import { type InMemory, type RunOptions, trackerInMemory } from '../../support/in-memory.ts';
import { testSeed } from '../../support/seeded.ts';
import { slice } from '../../support/slice.ts';

const ROWS = 300;
const PLACES = 40;
let state = testSeed >>> 0;
/** Returns a number from 0 to 1 that depends on the seed of the run. */
const next = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const places = Array.from({ length: PLACES }, (_, i) => ({
  place: 1 + Math.floor(next() * ROWS),
  isApplied: i % 2 === 0,
}));
const rows = Array.from(
  { length: ROWS },
  (_, i) => `${JSON.stringify({ resource: 'epics', external_id: `P-${i + 1}`, name: `row ${i + 1}` })}\n`,
).join('');
const lose = (): never => {
  throw new NetworkError('RESET', 'the connection was closed', true);
};
/** Disconnects the network at one create, which may still arrive. */
const endsAt = (at: InMemory, place: number, isApplied: boolean): RunOptions => {
  let [creates, isOver] = [0, false];
  return {
    meanwhile: ({ method, path, body }) => {
      if (isOver) lose();
      if (method !== 'POST') return;
      creates += 1;
      if (creates < place) return;
      isOver = true;
      if (isApplied) at.send(method, path, body);
      lose();
    },
  };
};
const keysIn = (at: InMemory): string[] => at.send('GET', '/epics').map((one: any) => one.external_id);

test.each(slice(places, 4))(
  'a sync that is cut at $place (applied: $isApplied) and started again makes each record once',
  async ({ place, isApplied }) => {
    const at = trackerInMemory({ 'rows.ndjson': rows });
    const sync = (options?: RunOptions) => at.run(['sync', '-f', 'rows.ndjson'], options);
    expect((await sync(endsAt(at, place, isApplied))).code).toBe(11);
    expect((await sync()).code).toBe(0);
    expect([keysIn(at).length, new Set(keysIn(at)).size]).toEqual([ROWS, ROWS]);
    expect((await sync()).writes).toEqual([]);
  },
  60_000,
);

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
const commands = ['sync', 'bulk --op upsert', 'bulk --op create'].flatMap((words) =>
  ['epics', 'stories'].flatMap((resource) =>
    ['ndjson', 'csv'].map((format) => `${words} -f rows.${format} --resource ${resource}`),
  ),
);
const firstCommand = Math.floor(next() * commands.length);
const places = Array.from({ length: PLACES }, (_, i) => ({
  place: 1 + Math.floor(next() * ROWS),
  isApplied: i % 2 === 0,
  command: commands[(firstCommand + i) % commands.length] ?? '',
}));
const rows = Array.from(
  { length: ROWS },
  (_, i) => `${JSON.stringify({ external_id: `P-${i + 1}`, name: `row, ${i + 1}` })}\n`,
).join('');
const csv = `external_id,name\n${Array.from({ length: ROWS }, (_, i) => `P-${i + 1},"row, ${i + 1}"\n`).join('')}`;
const lose = (): never => {
  throw new NetworkError('RESET', 'the connection was closed', true);
};
/** A search for stories is a POST without a change. */
const isChange = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method !== 'GET' && path !== '/stories/search';
/** Disconnects the network at one create, which may still arrive. */
const endsAt = (at: InMemory, place: number, isApplied: boolean): RunOptions => {
  let [creates, isOver] = [0, false];
  return {
    meanwhile: ({ method, path, body }) => {
      if (isOver) lose();
      if (!isChange({ method, path })) return;
      creates += 1;
      if (creates < place) return;
      isOver = true;
      if (isApplied) at.send(method, path, body);
      lose();
    },
  };
};
const keysIn = (at: InMemory, command: string): string[] =>
  (command.endsWith('epics') ? at.send('GET', '/epics') : at.send('POST', '/stories/search', {})).map(
    (one: any) => one.external_id,
  );

test.each(slice(places, 4))(
  '$command that is cut at $place (applied: $isApplied) and started again makes each record once',
  async ({ command, place, isApplied }) => {
    const at = trackerInMemory({ 'rows.ndjson': rows, 'rows.csv': csv });
    const run = (options?: RunOptions, ...more: string[]) =>
      at.run([...command.split(' '), ...more], options);
    expect((await run(endsAt(at, place, isApplied))).code).toBe(11);
    let second = await run();
    if (second.code === 10) {
      // A create that the service may have applied is repeated only after a decision of the user.
      expect(second.writes.filter(isChange)).toEqual([]);
      second = await run(undefined, '--resume');
    }
    expect(second.code).toBe(0);
    const keys = keysIn(at, command);
    expect([keys.length, new Set(keys).size]).toEqual([ROWS, ROWS]);
    if (!command.includes('create')) expect((await run()).writes.filter(isChange)).toEqual([]);
  },
  60_000,
);

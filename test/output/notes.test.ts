import { expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { holdNote, isHeld, releaseNotes } from '../../src/output/render.ts';
import { partlyMade } from '../support/context.ts';

const world = () => {
  const [written, waits]: [string[], number[]] = [[], []];
  let wake = (): void => {};
  const sleep = (ms: number): Promise<void> => {
    waits.push(ms);
    return new Promise((resolve) => (wake = resolve));
  };
  const host = partlyMade<Host>({
    sleep,
    terminal: { stderr: { write: async (text: string) => void written.push(text) } },
  });
  return { host, written, waits, wake: async () => (wake(), await Promise.resolve()) };
};
const options = () => ({ format: 'json', notes: [] as string[] }) as unknown as Parameters<typeof isHeld>[0];

test('a message of the first second waits for the end of the command, or for the end of that second', async () => {
  const { host, written, waits, wake } = world();
  const given = options();
  expect([isHeld(given, 200), isHeld(given, 1000)]).toEqual([true, false]);
  holdNote(given, host, 'one', 200);
  holdNote(given, host, 'two', 300);
  expect([waits, written]).toEqual([[800], []]);
  await wake();
  expect(written).toEqual(['one\n', 'two\n']);
});

test('earlier messages are not written again', async () => {
  const { host, written, wake } = world();
  const given = options();
  holdNote(given, host, 'one', 0);
  releaseNotes(given, host);
  await wake();
  expect(written).toEqual(['one\n']);
});

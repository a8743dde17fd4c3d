import { expect, test } from 'vitest';
import { liveScreen } from '../../../../src/kv/upgrade/present/live.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import type { UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { goodRun } from '../events.ts';

/** A terminal that records its output. */
const onTerminal = (columns = 100, clean = (text: string) => text) => {
  const host = fakeHost();
  let written = '';
  const stderr = {
    ...host.terminal.stderr,
    columns,
    write: async (text: string | Uint8Array) => {
      written += String(text);
    },
  };
  const screen = liveScreen({ ...host, terminal: { ...host.terminal, stderr } }, { isColored: false, clean });
  return { host, screen, written: () => written };
};

test('the screen draws the last state when it ends, and no later one', async () => {
  const { host, screen, written } = onTerminal();
  for (const event of goodRun) screen.take(event);
  await screen.finish();
  const last = written();
  expect(last.slice(last.lastIndexOf('\r'))).toContain('cluster shop runs 3.3');
  await host.sleep(250);
  expect(written()).toBe(last);
});

test('a question has the terminal, and the table returns below its reply', async () => {
  const { host, screen, written } = onTerminal();
  for (const event of goodRun.slice(0, 3)) screen.take(event);
  let [before, during] = ['', ''];
  const answer = await screen.pause(async () => {
    before = written();
    await host.sleep(250);
    during = written();
    return 'yes';
  });
  await screen.finish();
  expect([answer, during]).toEqual(['yes', before]);
  // The first drawing after the prompt moves up zero lines, so the prompt and the reply remain visible.
  expect(written().slice(during.length, during.length + 4)).toBe('\r\u001b[J');
});

const note = (text: string): UpgradeEvent => ({
  ...{ event: 'note', level: 'warn', text, at: '', elapsed_ms: 0 },
});
const [begin] = goodRun as [UpgradeEvent];
/** Returns the drawings on the terminal. Each drawing starts with a carriage return. */
const drawings = (text: string): string[] => text.split('\r').slice(1);

test('messages appear above the table once, wrapped to the terminal and cut after three lines', async () => {
  const { host, screen, written } = onTerminal(40, (text) => text.replaceAll('\u0007', '^G'));
  for (const event of [begin, note('bell \u0007'), note(`${'word '.repeat(60)}end`)]) screen.take(event);
  await host.sleep(250);
  screen.take(note('later'));
  await screen.finish();
  const lines = written().split('\n');
  expect(lines.filter((line) => line.includes('bell ^G'))).toHaveLength(1);
  expect(lines.filter((line) => line === 'later' || line.endsWith('Jlater'))).toHaveLength(1);
  const said = lines.filter((line) => line.includes('word'));
  expect(said.at(-1)).toMatch(/…$/);
  expect(said.join(' ').replaceAll(/ +/g, ' ').length).toBeLessThanOrEqual(120);
  for (const line of said) expect(line.replace(/^.*J/s, '').length).toBeLessThanOrEqual(40);
  expect(Math.max(...said.map((line) => line.length))).toBeGreaterThan(35);
});

test('every drawing turns the mark, counts the time from the start, and redraws the last one', async () => {
  const { host, screen, written } = onTerminal();
  host.advance(5000);
  screen.take({ ...begin, elapsed_ms: 1200 } as UpgradeEvent);
  const first = written().length;
  await expect
    .poll(
      async () => {
        await host.turn();
        return drawings(written().slice(first)).length < 4;
      },
      { interval: 1 },
    )
    .toBe(false);
  const later = drawings(written().slice(first));
  expect(new Set(later.map((text) => /[◐◓◑◒]/.exec(text)?.[0])).size).toBeGreaterThan(2);
  expect(later[0]).toMatch(/ 1\.\d s\n$/);
  // The previous drawing had six lines.
  expect(later[1]?.startsWith('\u001b[6A\u001b[J')).toBe(true);
  await screen.finish();
});

test('the time stops when the run is over', async () => {
  const { host, screen, written } = onTerminal();
  for (const event of goodRun) screen.take(event);
  host.advance(90_000);
  await screen.finish();
  expect(drawings(written()).at(-1)).toContain(' 6.0 s');
});

test.each([
  [0, 80],
  [5, 20],
  [60, 60],
])('a terminal that reports %i columns has %i', async (columns, width) => {
  const { screen, written } = onTerminal(columns);
  screen.take(begin);
  screen.take(note('x'.repeat(500)));
  await screen.finish();
  const widest = Math.max(
    ...written()
      .split('\n')
      .map((line) => line.replace(/^.*J/s, '').length),
  );
  // The note has no spaces and fills three lines.
  expect(widest).toBe(width * 3);
});

test('a terminal that reports 0 columns gets the table of 80 columns', async () => {
  const [unsized, usual] = [onTerminal(0), onTerminal(80)];
  for (const { screen } of [unsized, usual]) {
    for (const event of goodRun) screen.take(event);
    await screen.finish();
  }
  expect(unsized.written()).toBe(usual.written());
});

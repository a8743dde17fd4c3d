import { expect, test } from 'vitest';
import { liveScreen } from '../../../src/kv-upgrade/live/screen.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { goodRun } from '../events.ts';

/** A terminal whose writing can be read. */
const onTerminal = () => {
  const host = fakeHost();
  let written = '';
  const stderr = {
    ...host.terminal.stderr,
    columns: 100,
    write: async (text: string | Uint8Array) => {
      written += String(text);
    },
  };
  const screen = liveScreen(
    { ...host, terminal: { ...host.terminal, stderr } },
    { isColored: false, clean: (text) => text },
  );
  return { host, screen, written: () => written };
};

test('the screen draws the last state when it ends, and nothing after it', async () => {
  const { host, screen, written } = onTerminal();
  for (const event of goodRun) screen.take(event);
  await screen.finish();
  const last = written();
  expect(last.slice(last.lastIndexOf('\r'))).toContain('cluster shop runs 3.3');
  await host.sleep(250);
  expect(written()).toBe(last);
});

test('a question has the terminal for itself, and the table comes back below its answer', async () => {
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
  // The first drawing after it moves up over nothing: what was asked and answered stays.
  expect(written().slice(during.length, during.length + 4)).toBe('\r\u001b[J');
});

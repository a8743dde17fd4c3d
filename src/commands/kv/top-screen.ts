import type { Context } from '../../cli/command.ts';
import { isAccessible } from '../../core/accessible.ts';
import { fullScreen } from '../../kv/upgrade/present/full-screen.ts';
import { type TopLook, type TopState, topLines } from '../../kv/upgrade/present/top.ts';
import { asciiSigns, isAsciiOnly } from '../../output/ascii.ts';
import { isColored } from '../../output/color.ts';
import { printable } from '../../output/printable.ts';
import { type TopPlace, acted, keyOf } from './top-keys.ts';

export const isDrawable = ({ host }: Context): boolean =>
  host.terminal.stdout.isTty &&
  host.terminal.stdin.isTty &&
  host.terminal.stdin.keys !== undefined &&
  host.env.TERM !== 'dumb' &&
  !isAccessible(host.env);

const lookOf = ({ host, color }: Context): TopLook => {
  const { columns, rows } = host.terminal.stdout;
  return {
    columns: Math.max(20, columns || 80),
    rows: Math.max(5, rows ?? 24),
    isColored: isColored(color, host.env, true),
    hasKeys: true,
  };
};

/** Text of a member never moves the cursor: it is made visible before it is coloured. */
const shownState = (state: TopState): TopState => ({
  ...state,
  ...(state.message === undefined ? {} : { message: printable(state.message) }),
});

/** Draws at each interval, and at once when the terminal changes its size, until q or Ctrl-C. */
export const onScreen = async (context: Context, place: TopPlace, intervalMs: number): Promise<void> => {
  const { host, signal } = context;
  const screen = fullScreen(host);
  const ascii = isAsciiOnly(host.env) ? asciiSigns : (text: string) => text;
  let message: string | undefined;
  await screen.open();
  try {
    for (;;) {
      const pause = new AbortController();
      const drawing = (async () => {
        while (!pause.signal.aborted && !signal.aborted) {
          const state = await place.look();
          const look = lookOf(context);
          const lines = topLines(
            shownState({ ...state, ...(message === undefined ? {} : { message }) }),
            look,
          );
          if (!pause.signal.aborted) await screen.draw(lines.map(ascii), look.columns, look.rows);
          await host.sleep(intervalMs, AbortSignal.any([pause.signal, signal])).catch(() => {});
        }
      })();
      const key = await keyOf(context, signal);
      pause.abort();
      await drawing;
      if (key === undefined || key === 'q' || key === '\u0003') return;
      message = await acted(context, place, screen, key);
    }
  } finally {
    await screen.close();
  }
};

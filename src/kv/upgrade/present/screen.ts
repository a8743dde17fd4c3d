import type { Host } from '../../../platform/host.ts';
import { wrap } from '../../../core/wrap.ts';
import type { UpgradeEvent } from '../../engine/types.ts';
import { type LiveState, emptyState, liveAfter } from './live-state.ts';
import { liveLines } from './live.ts';

const FRAME_MS = 100;
const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, width - 1)}…`;

/** Moves up over what was drawn, writes what stays above it, and draws anew. Pure. */
export const redraw = (drawn: number, above: readonly string[], lines: readonly string[]): string => {
  // A terminal that shows ^C leaves the cursor behind it: the drawing begins at the edge.
  const back = drawn === 0 ? '' : `\u001b[${drawn}A`;
  return `\r${back}\u001b[J${[...above, ...lines].map((line) => `${line}\n`).join('')}`;
};

const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
/** Rows of the terminal that these lines take at this width: one that became narrower has wrapped them. Pure. */
export const rowsAt = (lines: readonly string[], columns: number): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(line.replace(escapes, '').length / columns)), 0);

export type Screen = {
  take(event: UpgradeEvent): void /** Draws the last state and leaves it standing. */;
  finish(): Promise<void> /** Steps aside for a question and draws again after it. */;
  pause<T>(ask: () => Promise<T>): Promise<T>;
};

type Look = {
  readonly isColored: boolean /** Makes control characters visible. */;
  clean(text: string): string;
};

/** What is written once and stays above the table. */
const linesAbove = (texts: readonly string[], columns: number, look: Look): string[] =>
  texts.map((text) => wrap(cut(look.clean(text), columns * 3), columns - 2, '  '));

const widthOf = ({ columns }: { readonly columns: number }): number => Math.max(20, columns || 80);

/** The member × step table on a terminal. */
export const liveScreen = (host: Host, look: Look): Screen => {
  const { stderr } = host.terminal;
  let state: LiveState = emptyState;
  let drawn: readonly string[] = [];
  let [frame, saidBefore, isPaused, startedAt] = [0, 0, false, host.elapsed()];
  const over = new AbortController();
  const draw = (): void => {
    if (isPaused) return;
    const columns = widthOf(stderr);
    const above = linesAbove(state.said.slice(saidBefore), columns, look);
    saidBefore = state.said.length;
    const shown = state.outcome === undefined ? { ...state, elapsedMs: host.elapsed() - startedAt } : state;
    const { isColored } = look;
    const lines = liveLines({ ...shown, now: look.clean(shown.now) }, { columns, isColored, frame });
    stderr.write(redraw(rowsAt(drawn, columns), above, lines)).catch(() => {});
    [drawn, frame] = [lines, frame + 1];
  };
  const drawing = repeat(host, over.signal, draw);
  return {
    take: (event) => {
      if (event.event === 'run-started') startedAt = host.elapsed() - event.elapsed_ms;
      state = liveAfter(state, event);
    },
    finish: async () => {
      over.abort();
      await drawing;
      draw();
    },
    pause: async (ask) => {
      draw();
      [isPaused, drawn] = [true, []];
      try {
        return await ask();
      } finally {
        isPaused = false;
      }
    },
  };
};

const repeat = async (host: Host, signal: AbortSignal, draw: () => void): Promise<void> => {
  while (!signal.aborted) {
    draw();
    await host.sleep(FRAME_MS, signal).catch(() => {});
  }
};

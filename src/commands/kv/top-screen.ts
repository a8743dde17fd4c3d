import { isAccessible } from '../../core/accessible.ts';
import type { Context } from '../../cli/command.ts';
import { isColored } from '../../output/color.ts';
import { asciiSigns, isAsciiOnly } from '../../output/ascii.ts';
import { printable } from '../../output/printable.ts';
import { fullScreen } from '../../kv-upgrade/live/full-screen.ts';
import { type TopLook, type TopState, topLines } from '../../kv-upgrade/live/top-frame.ts';

/** What a key starts: this program again, with its own questions and confirmations. */
const commands: Readonly<Record<string, readonly string[]>> = {
  c: ['kv', 'check'],
  p: ['kv', 'plan'],
  u: ['kv', 'upgrade'],
  r: ['kv', 'rollback'],
};

export type TopPlace = {
  /** `--cluster FILE`, for the commands that keys start. */
  readonly named: readonly string[];
  look(): Promise<TopState>;
  /** Asks, then lets the run that is under way stop after its current step; says what came of it. */
  hold(): Promise<string>;
};

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

/** A command with the terminal to itself; its answer stays until a key is pressed. */
const started = async ({ host }: Context, words: readonly string[]): Promise<void> => {
  const [command, ...first] = host.self;
  await host.terminal.stdout.write(`$ opsctl ${words.join(' ')}\n`);
  const { code } = await host.processes.run(command, [...first, ...words], { stdio: 'inherit' });
  await host.terminal.stdout.write(`\nexit code ${code ?? '?'}; press a key to go back\n`);
};

type Screen = ReturnType<typeof fullScreen>;

const nextKey = async (context: Context): Promise<void> => {
  for await (const _ of context.host.terminal.stdin.keys?.(context.signal) ?? []) return;
};

/** Steps aside for what a key asks for; says what came of it. */
const acted = async (
  context: Context,
  place: TopPlace,
  screen: Screen,
  key: string,
): Promise<string | undefined> => {
  const words = commands[key];
  if (words === undefined && key !== 'h') return undefined;
  await screen.close();
  try {
    if (words === undefined) return await place.hold();
    await started(context, [...words, ...place.named]);
    await nextKey(context);
    return undefined;
  } finally {
    await screen.open();
  }
};

/** Keys until one of those that mean something; undefined at the end. */
const keyOf = async (context: Context, signal: AbortSignal): Promise<string | undefined> => {
  for await (const key of context.host.terminal.stdin.keys?.(signal) ?? [])
    if (key === '\u0003' || key === 'q' || key === 'h' || commands[key] !== undefined) return key;
  return undefined;
};

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

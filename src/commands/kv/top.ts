import { trustCall } from '../../core/program-call.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, duration, int } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { isJsonStream, parseDuration, columnsOf, isAccessible } from '../../core/format.ts';
import { nothing, recordResult } from '../../core/result.ts';
import { shellLine } from '../../core/shell.ts';
import { oneLine, printable } from '../../core/text.ts';
import type { fullScreen } from '../../kv/upgrade/present/live.ts';
import type { TopLook, TopState, TopWatch } from '../../kv/upgrade/present/status.ts';
import { asciiSigns, isAsciiOnly } from '../../output/types.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './prepare.ts';

const flags = {
  ...endpointFlags,
  interval: { field: duration(), summary: 'Refresh interval (default 2s)', value: 'duration' },
  count: {
    field: int({ min: 1, max: 1_000_000 }),
    summary: 'Exit after N refreshes (-o ndjson)',
    value: 'n',
  },
  canary: {
    effects: ['writes'],
    field: bool(),
    summary: 'Write a test value at each refresh and show the latency',
  },
} as const satisfies Flags;
async function* stream(context: Context, watch: TopWatch, everyMs: number, count: number) {
  const { topData } = await import('../../kv/upgrade/present/status.ts');
  try {
    for (let i = 0; i < count && !context.signal.aborted; i += 1) {
      if (i > 0) await context.host.sleep(everyMs, context.signal).catch(() => {});
      if (!context.signal.aborted) yield topData(await watch.look());
    }
  } finally {
    await watch.stop();
  }
}
const snapshot = async (context: Context, watch: TopWatch) => {
  const [{ topLines }, { topData }] = await Promise.all([
    import('../../kv/upgrade/present/status.ts'),
    import('../../kv/upgrade/present/status.ts'),
  ]);
  const state = await watch.look();
  await watch.stop();
  const columns = Math.min(200, columnsOf(context.host.terminal.stdout));
  const text = topLines(state, { columns, rows: 1000, isColored: false, hasKeys: false }).join('\n');
  return recordResult(topData(state), { text });
};
const run = async (context: Context, values: ValuesOf<typeof flags>) => {
  const opened = await openCluster(context, values);
  const everyMs = parseDuration(values.interval ?? '2s', '--interval');
  const [{ topWatch }, { holdRun }] = await Promise.all([
    import('../../kv/upgrade/present/status.ts'),
    import('../../kv/upgrade/present/status.ts'),
  ]);
  const { host, settings } = context;
  const { cluster, access } = opened;
  const state = settings.directories.clusters;
  const watch = topWatch({ host, state, cluster, access }, values.canary ?? false);
  if (isJsonStream(context.format))
    return { kind: 'rows' as const, rows: stream(context, watch, everyMs, values.count ?? Infinity) };
  if (!isDrawable(context) || context.isFormatGiven === true) return snapshot(context, watch);
  const named = values.cluster === undefined ? [] : ['--cluster', values.cluster];
  const place = {
    named,
    look: watch.look,
    hold: () => holdRun(host, state, cluster.name, context.showAdvice),
  };
  await onScreen(context, place, Math.max(200, everyMs)).finally(watch.stop);
  return nothing();
};
export const top = defineCommand({
  path: ['kv', 'top'],
  summary: 'Monitor members, leader, lag, alarms, sizes and the run',
  about:
    'Shows the state of a cluster during a maintenance window. On a terminal, it is a full-screen view with keys: c check, p plan, u upgrade, h hold, r rollback, ? list of the keys, q quit. Each key prompts like the command of the same name. Without a terminal, prints one snapshot, or with -o ndjson one JSON object per refresh. Makes no changes, except that --canary writes one key and removes it.',
  flags,
  examples: [
    { line: 'opsctl kv top --cluster cluster.yaml', says: 'Monitor a cluster during a maintenance window' },
    {
      line: 'opsctl kv top --endpoints localhost:2379 -o ndjson --count 3',
      says: 'Print three refreshes as data',
    },
  ],
  run,
});

/** What a key starts: this program again, with its own questions and confirmations. */
const commands: Readonly<Record<string, readonly string[]>> = {
  c: ['kv', 'check'],
  p: ['kv', 'plan'],
  u: ['kv', 'upgrade'],
  r: ['kv', 'rollback'],
};
type TopPlace = {
  /** `--cluster FILE`, for the commands that keys start. */
  readonly named: readonly string[];
  look(): Promise<TopState>;
  /** Confirms, then stops the current run after its current step. Returns the outcome. */
  hold(): Promise<string>;
};
/** Gives the terminal to a command. Its output stays until a key is pressed. */
const startCommand = async ({ host }: Context, words: readonly string[]): Promise<void> => {
  await host.terminal.stdout.write(`$ ${oneLine(shellLine(['opsctl', ...words]))}\n`);
  const { code } = await host.processes.run(...trustCall([...host.self, ...words]), { stdio: 'inherit' });
  await host.terminal.stdout.write(`\nexit code ${code ?? '?'}; press a key to go back\n`);
};
type Screen = ReturnType<typeof fullScreen>;
const nextKey = async (context: Context): Promise<void> => {
  for await (const _ of context.host.terminal.stdin.keys?.(context.signal) ?? []) return;
};
/** Hides the view for the command of a key. Returns the outcome. */
const actOnKey = async (
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
    await startCommand(context, [...words, ...place.named]);
    await nextKey(context);
    return undefined;
  } finally {
    await screen.open();
  }
};
/** Keys of the view itself: Ctrl-C, quit, hold, and the list of keys. */
const screenKeys: ReadonlySet<string> = new Set(['\u0003', 'q', 'h', '?']);
/** Waits for a key with a meaning; undefined at the end of the input. */
const keyOf = async (context: Context, signal: AbortSignal): Promise<string | undefined> => {
  for await (const key of context.host.terminal.stdin.keys?.(signal) ?? [])
    if (screenKeys.has(key) || commands[key] !== undefined) return key;
  return undefined;
};

const isDrawable = ({ host }: Context): boolean =>
  host.terminal.stdout.isTty &&
  host.terminal.stdin.isTty &&
  host.terminal.stdin.keys !== undefined &&
  host.env.TERM !== 'dumb' &&
  !isAccessible(host.env);
const lookOf = async ({ host, color }: Context): Promise<TopLook> => {
  const { isColored } = await import('../../output/types.ts');
  const { columns, rows } = host.terminal.stdout;
  return {
    columns: Math.max(20, columns || 80),
    rows: Math.max(5, rows || 24),
    isColored: isColored(color, host.env, true),
    hasKeys: true,
  };
};
/** Text of a member never moves the cursor: it is made visible before it is colored. */
const shownState = (state: TopState): TopState => ({
  ...state,
  ...(state.message === undefined ? {} : { message: printable(state.message) }),
});
/** Draws at each interval, and immediately after a resize of the terminal, until q or Ctrl-C. */
const onScreen = async (context: Context, place: TopPlace, intervalMs: number): Promise<void> => {
  const { host, signal } = context;
  const [{ fullScreen }, { topLines }] = await Promise.all([
    import('../../kv/upgrade/present/live.ts'),
    import('../../kv/upgrade/present/status.ts'),
  ]);
  const screen = fullScreen(host);
  const ascii = isAsciiOnly(host.env) ? asciiSigns : (text: string) => text;
  let message: string | undefined;
  let showsKeys = false;
  await screen.open();
  try {
    for (;;) {
      const pause = new AbortController();
      const drawing = (async () => {
        while (!pause.signal.aborted && !signal.aborted) {
          const state = await place.look();
          const look = await lookOf(context);
          const lines = topLines(
            shownState({ ...state, showsKeys, ...(message === undefined ? {} : { message }) }),
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
      if (key === '?') showsKeys = !showsKeys;
      else message = await actOnKey(context, place, screen, key);
    }
  } finally {
    await screen.close();
  }
};

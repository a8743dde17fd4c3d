import type { Context } from '../../cli/command.ts';
import type { fullScreen } from '../../kv/upgrade/present/full-screen.ts';
import type { TopState } from '../../kv/upgrade/present/top.ts';

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
export const acted = async (
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
export const keyOf = async (context: Context, signal: AbortSignal): Promise<string | undefined> => {
  for await (const key of context.host.terminal.stdin.keys?.(signal) ?? [])
    if (key === '\u0003' || key === 'q' || key === 'h' || commands[key] !== undefined) return key;
  return undefined;
};

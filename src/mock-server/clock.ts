import type { Store } from './store.ts';

/** How the mock's time differs from the machine's; kept with the state, so that a restart does not travel back. */
type Setting = { readonly offsetMs: number; readonly frozenAtMs?: number };

export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
  /** From now on it is this time; with `frozen` it stays so. */
  set(ms: number, frozen?: boolean): void;
  advance(ms: number): void;
  /** Back to the machine's time. */
  clear(): void;
  state(): { readonly time: string; readonly offset_ms: number; readonly frozen: boolean };
};

export const makeClock = (store: Store, machineNow: () => number): Clock => {
  const settings = store.collection<Setting>('mock.clock');
  const put = (setting: Setting) => store.transact(() => settings.put('clock', setting));
  const now = (): number => {
    const setting = settings.get('clock');
    return setting === undefined ? machineNow() : (setting.frozenAtMs ?? machineNow() + setting.offsetMs);
  };
  const set = (ms: number, frozen = false) =>
    put({ offsetMs: ms - machineNow(), ...(frozen ? { frozenAtMs: ms } : {}) });
  return {
    now,
    set,
    advance: (ms) => set(now() + ms, settings.get('clock')?.frozenAtMs !== undefined),
    clear: () => void store.transact(() => settings.delete('clock')),
    state: () => ({
      time: new Date(now()).toISOString(),
      offset_ms: Math.round(now() - machineNow()),
      frozen: settings.get('clock')?.frozenAtMs !== undefined,
    }),
  };
};

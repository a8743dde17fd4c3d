import type { Host } from '../../../platform/host.ts';
import type { Sink, Unstamped, UpgradeEvent } from '../../engine/types.ts';

const mostEvents = 200_000;
export type Recorder = {
  readonly events: UpgradeEvent[];
  readonly startedAt: string;
  readonly startedMs: number;
  emit(event: Unstamped): void;
};
export const recorder = (host: Host, sink: Sink): Recorder => {
  const [events, startedMs] = [[] as UpgradeEvent[], host.elapsed()];
  let leader: string | undefined;
  return {
    events,
    startedAt: new Date(host.now()).toISOString(),
    startedMs,
    emit: (event) => {
      // The one who moves the leadership and the one who watches it see the same change.
      if (event.event === 'leader-changed' && event.to === leader) return;
      if (event.event === 'leader-changed') leader = event.to;
      const stamped = {
        ...event,
        at: new Date(host.now()).toISOString(),
        elapsed_ms: Math.round(host.elapsed() - startedMs),
      } as UpgradeEvent;
      // The report draws every write; hours of waiting must not fill the memory with them.
      if (event.event !== 'canary' || !event.ok || events.length < mostEvents) events.push(stamped);
      sink(stamped);
    },
  };
};

import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { ClusterFile, Finding, Observation, PlanOptions } from '../types.ts';

export type GuardInput = {
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly options: PlanOptions;
  /** The lowest running version and the one to go to; undefined when they cannot be told. */
  readonly from?: Minor;
  readonly to?: Minor;
};
/** One precondition. It speaks for itself: a `pass` says what was seen to be good. Pure. */
export type Guard = { readonly id: string; readonly findings: (input: GuardInput) => readonly Finding[] };

type Said = Omit<Finding, 'guard' | 'level'>;
/** `unknown` is for what could not be observed: it is never a pass. */
export type Log = { fail(said: Said): void; warn(said: Said): void; unknown(said: Said): void };
/** `pass` when nothing was found. */
export const guard = (id: string, good: string, look: (input: GuardInput, log: Log) => void): Guard => ({
  id,
  findings: (input) => {
    const found: Finding[] = [];
    const add = (level: Finding['level']) => (said: Said) => void found.push({ guard: id, level, ...said });
    look(input, { fail: add('fail'), warn: add('warn'), unknown: add('unknown') });
    return found.length > 0 ? found : [{ guard: id, level: 'pass', message: good }];
  },
});

const mebibyte = 1024 * 1024;
export const mebibytes = (bytes: number): string =>
  bytes < mebibyte
    ? `${Math.round(bytes / 1024)} KiB`
    : `${(bytes / mebibyte).toFixed(bytes < 10 * mebibyte ? 1 : 0)} MiB`;

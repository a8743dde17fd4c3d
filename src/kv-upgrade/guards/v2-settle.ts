import type { Observation } from '../types.ts';
import { guard, mebibytes } from './guard.ts';

const megabyte = 1_000_000;
export type Settle = { readonly seconds: number; readonly why: string };

/** spec/store#limits: v2 data over 50 MB: two minutes between members; 100 MB or more: longer; only v3 data: no wait. */
export const settleOf = (v2Bytes: number): Settle | undefined => {
  if (v2Bytes <= 50 * megabyte) return undefined;
  if (v2Bytes < 100 * megabyte)
    return {
      seconds: 120,
      why: `${mebibytes(v2Bytes)} of v2 data: a new member may take two minutes to catch up`,
    };
  const minutes = Math.ceil((2 * v2Bytes) / (50 * megabyte));
  return {
    seconds: minutes * 60,
    why: `${mebibytes(v2Bytes)} of v2 data: catching up takes longer than two minutes`,
  };
};
export const v2BytesOf = (observation: Observation): number =>
  Math.max(0, ...observation.members.map(({ host }) => host?.v2_bytes ?? 0));

export const v2Settle = guard(
  'v2-settle',
  'little or no v2 data: no waits between members',
  ({ observation }, log) => {
    const settle = settleOf(v2BytesOf(observation));
    if (settle !== undefined)
      log.warn({
        message: `${settle.why}; the plan waits ${settle.seconds} s between members`,
        hint: 'snapshots hold only v3 data: keep a copy of the data directories (--copy-data)',
      });
  },
);

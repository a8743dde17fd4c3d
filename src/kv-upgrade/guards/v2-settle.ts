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
/** By the largest snapshot file of the old data, and by what the old interface holds now: the file may be a hundred thousand writes old. */
export const v2BytesOf = ({ members, v2 }: Pick<Observation, 'members' | 'v2'>): number =>
  Math.max(
    0,
    v2 !== undefined && 'bytes' in v2 ? v2.bytes : 0,
    ...members.map(({ host }) => host?.v2_bytes ?? 0),
  );

export const v2Settle = guard(
  'v2-settle',
  'little or no v2 data: no waits between members',
  ({ observation, from }, log) => {
    const settle = settleOf(v2BytesOf(observation));
    if (settle !== undefined)
      return log.warn({
        message: `${settle.why}; the plan waits ${settle.seconds} s between members`,
        hint: 'snapshots hold only v3 data: keep a copy of the data directories (--copy-data)',
      });
    const { v2 } = observation;
    if (v2 !== undefined && 'unknown' in v2)
      log.unknown({
        message: `how much v2 data there is could not be seen: ${v2.unknown}; with more than 50 MB of it, each member of ${from ?? 'the old version'} needs two minutes`,
        hint: '--stable-for 120 waits that long after each member',
      });
  },
);

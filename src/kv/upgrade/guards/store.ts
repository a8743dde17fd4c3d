import type { Observation } from '../../engine/types.ts';
import { guard, mebibytes, sees } from './guard.ts';

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

/** A v2 snapshot file also records the members. Up to this size it proves nothing about data of clients. */
const memberRecordBytes = 64 * 1024;
/**
 * Bytes of v2 data that clients have written, as far as they could be seen. A read through the interface is exact. If the interface is off or
 * did not respond, only a snapshot file larger than the records of the members counts.
 */
export const clientV2Bytes = ({ members, v2 }: Pick<Observation, 'members' | 'v2'>): number => {
  if (v2 !== undefined && 'bytes' in v2 && v2.bytes > 0) return v2BytesOf({ members, v2 });
  const largest = v2BytesOf({ members });
  return largest > memberRecordBytes ? largest : 0;
};

/** A single key must not be shown as 0 KiB. */
const v2Size = (bytes: number): string => (bytes < 1024 ? `${bytes} bytes` : mebibytes(bytes));

const foundV2 = (observation: Observation): string => {
  const bytes = clientV2Bytes(observation);
  return bytes === 0
    ? 'no v2 data: no waits between members'
    : `${v2Size(bytes)} of v2 data, at most 50 MB: no waits between members`;
};

export const v2Settle = guard(
  'v2-settle',
  'at most 50 MB of v2 data: no waits between members',
  ({ observation, from }, log) => {
    const settle = settleOf(v2BytesOf(observation));
    if (settle !== undefined)
      return log.warn({ message: `${settle.why}; the plan waits ${settle.seconds} s between members` });
    const { v2 } = observation;
    if (v2 !== undefined && 'unknown' in v2)
      log.unknown({
        message: `how much v2 data there is could not be seen: ${v2.unknown}; with more than 50 MB of it, each member of ${from ?? 'the old version'} needs two minutes`,
        hint: '--stable-for 120 waits that long after each member',
      });
  },
  sees.answer,
  { found: ({ observation }) => foundV2(observation) },
);

/**
 * spec/store#procedure-2: a snapshot holds only v3 data, so v2 data of any amount needs a copy of the data directories. A run that has started
 * keeps the decision of its plan.
 */
export const v2Backup = guard(
  'v2-backup',
  'the backup covers all data',
  ({ observation, options, isUnderWay }, log) => {
    const bytes = clientV2Bytes(observation);
    if (options.copy_data) return;
    const { v2 } = observation;
    if (bytes > 0)
      return log[isUnderWay === true ? 'warn' : 'fail']({
        message: `${v2Size(bytes)} of v2 data is in no backup: snapshots hold only v3 data`,
        hint: '--copy-data copies each data directory while its member is stopped; --accept v2-backup continues without a copy',
      });
    if (v2 !== undefined && 'unknown' in v2)
      log.unknown({
        message: `whether there is v2 data could not be seen: ${v2.unknown}; snapshots hold only v3 data`,
        hint: '--copy-data copies each data directory while its member is stopped',
      });
  },
  sees.answer,
  {
    found: ({ observation, options }) => {
      const bytes = clientV2Bytes(observation);
      if (bytes === 0) return 'no v2 data was found: snapshots hold all data';
      return options.copy_data
        ? `${v2Size(bytes)} of v2 data: each data directory is copied while its member is stopped`
        : undefined;
    },
  },
);

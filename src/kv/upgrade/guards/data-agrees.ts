import { compareHashes } from '../observe/hashes.ts';
import { guard } from './guard.ts';

/** An upgrade of members whose data differ would carry the fault into the new version, and the snapshots would not agree with each other. */
export const dataAgrees = guard(
  'data-agrees',
  'no member holds other data than the others, as far as their versions can tell',
  ({ observation }, log) => {
    const { hashes, not_hashed } = observation;
    if (not_hashed !== undefined)
      log.unknown({
        message: `the data of the members was not compared: ${not_hashed}`,
        hint: 'opsctl kv endpoint hashkv compares it, where the versions can',
      });
    const found = compareHashes(hashes ?? []);
    if (found.kind === 'unproved')
      return log.warn({
        message: `members of different versions hash their data differently after a compaction, which proves nothing: ${found.detail}`,
        hint: 'opsctl kv endpoint hashkv, when all of them run the same version',
      });
    if (found.kind !== 'different') return;
    const [odd] = found.odd;
    log.fail({
      ...(odd === undefined ? {} : { member: odd }),
      message: `${odd === undefined ? 'the members hold' : `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'}`} different data: ${found.detail}`,
      hint: `opsctl kv replace-member ${odd ?? 'MEMBER'} gives it the data of the others`,
    });
  },
);

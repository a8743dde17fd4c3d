import { guard, mebibytes } from './guard.ts';

/** At its quota the store refuses every write: the upgrade's own writes may be what reaches it. */
const limits = { warn: 0.8, fail: 0.95 };

export const quota = guard('quota', 'no database is near its quota', ({ observation }, log) => {
  for (const { name, is_reachable, db_size_bytes: size, quota_bytes: most } of observation.members) {
    if (!is_reachable) continue;
    if (size === undefined || most === undefined) {
      log.unknown({
        member: name,
        message: `${name}: the size of its database or its quota could not be seen`,
      });
      continue;
    }
    const share = size / most;
    const finding = {
      member: name,
      message: `the database of ${name} fills ${Math.round(share * 100)} % of its quota: ${mebibytes(size)} of ${mebibytes(most)}`,
      hint: 'opsctl kv compact, then opsctl kv defrag; or raise --quota-backend-bytes on every member',
    };
    if (share >= limits.fail) log.fail(finding);
    else if (share >= limits.warn) log.warn(finding);
  }
});

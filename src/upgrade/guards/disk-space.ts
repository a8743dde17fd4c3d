import { guard, mebibytes } from './guard.ts';

/** The new version may rewrite the db file; a copy of the folder comes on top. */
export const diskSpace = guard('disk-space', 'there is room for the new version and the copies', ({ observation, options }, say) => {
  for (const { name, host, db_size_bytes } of observation.members) {
    if (host?.free_bytes === undefined) continue;
    const db = host.db_file_bytes ?? db_size_bytes ?? 0;
    const needed = db + (options.copy_data ? (host.data_dir_bytes ?? db) : 0);
    const said = {
      member: name,
      message: `${name} has ${mebibytes(host.free_bytes)} free, ${mebibytes(needed * 2)} are wanted`,
      hint: 'make room on the disk of the data folder',
    };
    if (host.free_bytes < needed) say.stop(said);
    else if (host.free_bytes < needed * 2) say.warn(said);
  }
});

import { AppError } from '../../core/problem.ts';
import { sh } from '../../core/shell.ts';
import type { ShellScript } from '../../core/shell.ts';
import { placeFunctions } from '../upgrade/supervisors/places.ts';
import { whyFailed } from '../upgrade/supervisors/service.ts';
import type { Shell } from '../upgrade/supervisors/shell.ts';
import type { MemberSpec } from '../engine/types.ts';

/**
 * What is left of the data goes beside its place, or, where that is the mount point of a disk, into a directory on it. Nothing is
 * deleted: the last member that could show what happened is not lost by its replacement. A link to the directory stays, and the new
 * directory is on the disk of the old one. May be repeated.
 */
const asideScript = (directory: string, ending: string): ShellScript => sh`${placeFunctions}
N=${directory}; D=$(real "$N"); E=${ending}
if [ ! -e "$D" ]; then exit 0; fi
if [ -z "$(ls -A "$D" 2>/dev/null)" ]; then exit 0; fi
if is_mount "$D"; then
  K="$D/$E"; mkdir -p "$K" || exit 1
  for f in "$D"/* "$D"/.[!.]*; do [ -e "$f" ] || [ -L "$f" ] || continue; case "$f" in "$D"/replaced-*|"$D"/lost+found) ;; *) mv "$f" "$K"/ || exit 1;; esac; done
else
  K=$(unused "$(beside "$N").$E")
  mv "$D" "$K" || exit 1
  mkdir -m 700 "$D" || exit 1
  if [ "$(id -u)" = 0 ]; then chown "$(stat -c %u:%g "$K")" "$D" || exit 1; fi
  chmod "$(stat -c %a "$K")" "$D" || exit 1
fi
printf %s "$K"`;

/** The data directory, and the directory of its log where that is another one: both are empty afterwards. Where they are kept. */
export const setAside = async (
  shell: Shell,
  { name, data_dir }: MemberSpec,
  walDir: string | undefined,
  run: string,
): Promise<readonly string[]> => {
  const isInside = walDir?.startsWith(`${data_dir?.replace(/\/+$/, '')}/`) === true;
  const kept: string[] = [];
  for (const directory of [data_dir, isInside ? undefined : walDir]) {
    if (directory === undefined) continue;
    const done = await shell.run(asideScript(directory, `replaced-${run}`), { timeoutMs: 60_000 });
    if (done.code !== 0)
      throw new AppError('stopped', `${name}: ${directory} could not be put aside: ${whyFailed(done)}`, {
        code: 'SET_ASIDE',
        tryThis: [`empty ${directory} by hand, then opsctl kv replace-member ${name}`],
      });
    if (done.stdout !== '') kept.push(done.stdout);
  }
  return kept;
};

import { AppError } from '../../../core/problem.ts';
import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import type { MemberSpec } from '../../engine/types.ts';
import type { DataCopy } from './driver.ts';
import { placeFunctions } from './places.ts';
import { valuesIn } from './service.ts';

export const copyMs = 3_600_000;

/**
 * `count DIRECTORY`: number and total size of the files below it, with directories that links lead to. `tree FROM TO` copies a directory with
 * owner, mode and times, follows every link, and fails unless both sides have equal counts. lost+found belongs to the file system.
 */
const treeFunctions = sh`count() { find -L "$1" -name lost+found -prune -o -type f -exec ls -ln {} + | awk '{ n++; s += $5 } END { printf "%d %.0f\\n", n, s }'; }
tree() { mkdir -p "$2" || return 1
for f in "$1"/* "$1"/.[!.]*; do
  [ -e "$f" ] || [ -L "$f" ] || continue
  [ "\${f##*/}" = lost+found ] || cp -aL "$f" "$2/" || return 1
done
o=$(stat -c %u:%g "$1") && m=$(stat -c %a "$1") || return 1
[ "$(id -u)" != 0 ] || chown "$o" "$2" || return 1
chmod "$m" "$2"; touch -r "$1" "$2"
a=$(count "$1"); b=$(count "$2")
[ "$a" = "$b" ] || { echo "the copy has $b files and bytes, $1 has $a" >&2; return 1; }; }`;

/**
 * Whole or not at all: half a copy would take the room that the member needs, and be taken for a copy. A separate write-ahead log becomes
 * member/wal of the copy, where a server finds it without --wal-dir.
 */
export const copyScript = (
  from: string,
  ending: string,
  wal: string | undefined,
): ShellScript => sh`${placeFunctions}
${treeFunctions}
N=${from}; R=$(real "$N"); [ -d "$R" ] || { echo "$N does not exist or is not a directory" >&2; exit 1; }
T="$(beside "$N")"${ending}; P="$T.partial"; rm -rf "$P"
W=${wal}
whole() {
  tree "$R" "$P" || return 1
  [ -n "$W" ] || return 0
  L=$(real "$W"); [ -d "$L" ] || { echo "the directory $W of the write-ahead log does not exist" >&2; return 1; }
  case "$L/" in "$R"/*) return 0;; esac
  [ ! -e "$P/member/wal" ] || mv "$P/member/wal" "$(unused "$P/member/wal.not-in-use")" || return 1
  mkdir -p "$P/member" && tree "$L" "$P/member/wal"
}
if whole && rm -rf "$T" && mv "$P" "$T"; then
  echo "copy.path=$(printf %s "$T" | base64 | tr -d '\\n')"; echo "copy.count=$(count "$T")"
else c=$?; rm -rf "$P"; [ $c = 0 ] && c=1; exit $c; fi`;

/** What `copyScript` printed. */
export const copyFrom = (text: string, { name }: MemberSpec): DataCopy => {
  const values = valuesIn(text);
  const [files, bytes] = (values.get('copy.count') ?? '').split(' ').map(Number);
  const path = Buffer.from(values.get('copy.path') ?? '', 'base64').toString();
  if (path === '' || files === undefined || bytes === undefined || !(files > 0))
    throw new AppError('stopped', `${name}: the copy of its data directory contains no files`, {
      code: 'COPY_EMPTY',
    });
  return { path, files, bytes };
};

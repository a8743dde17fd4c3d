import { sh, shellLines, type ShellScript } from '../../../core/shell.ts';
import type { MemberSpec } from '../../engine/model.ts';
import { commandOf } from './member-process.ts';

/**
 * Applies the rule of platform/trust.ts to the host of a member. `untrusted PATH [UID] [write]` prints why
 * another user could replace the object at the path, and prints no output if only root, this user and UID
 * can. `trusted PATH` returns 1 and prints the reason if opsctl must not run it. POSIX requires the format of
 * `ls -ldn`.
 */
export const trustFunctions = sh`untrusted_at() {
u_line=$(LC_ALL=C ls -ldn -- "$1" 2>/dev/null) || return 0
set -f; set -- "$1" $u_line; set +f
case "$2" in l*) u_may=$u_users;; *) u_may="$u_users$u_more ";; esac
u_who=$(id -un "$4" 2>/dev/null) && u_who="$u_who (uid $4)" || u_who="uid $4"
case "$u_may" in *" $4 "*) ;; *) echo "$1 belongs to $u_who, mode $2; if you trust its content: chown root '$1'"; return 1;; esac
case "$2" in
l*|d????????[tT]*) return 0;;
????????w*) u_by='other users'; u_fix=go-w;;
?????w*)
  [ "$u_use" != write ] || return 0
  [ "$4" = 0 ] || [ "$4" != "$5" ] || return 0
  case "$4 $5 $1/" in "0 50 /usr/local/"*) return 0;; esac
  u_by='its group'; u_fix=g-w;;
*) return 0;;
esac
if [ "$(id -u)" = 0 ] || [ "$u_by" = 'other users' ]; then [ -w "$1" ] || return 0; fi
echo "$1 belongs to $u_who and $u_by can write to it, mode $2; if you trust its content: chmod $u_fix '$1'"
return 1
}
untrusted() {
u_users=" 0 $(id -u) $(LC_ALL=C ls -ldn / | awk '{ print $3 }') "; u_more=$2; u_use=$3
[ "$(id -u)" != 0 ] || u_users="$u_users\${SUDO_UID:-0} "
u_left=$1
case "$u_left" in /*) ;; *) u_left=$(command -v "$1"); case "$u_left" in /*) ;; *) return 0;; esac;; esac
u_at=; u_links=0
untrusted_at / || return 0
while [ -n "$u_left" ]; do
  u_left=\${u_left#/}; u_name=\${u_left%%/*}
  case "$u_left" in */*) u_left=\${u_left#*/};; *) u_left=;; esac
  case "$u_name" in ''|.) continue;; ..) u_at=\${u_at%/*}; continue;; esac
  untrusted_at "$u_at/$u_name" || return 0
  if [ -h "$u_at/$u_name" ]; then
    u_links=$((u_links+1)); [ $u_links -le 40 ] || return 0
    u_to=$(readlink "$u_at/$u_name"); u_left=$u_to/$u_left
    case "$u_to" in /*) u_at=;; esac
  else
    u_at=$u_at/$u_name
  fi
done
}
trusted() {
u_why=$(untrusted "$1")
[ -n "$u_why" ] || return 0
echo "opsctl did not run $1: $u_why" >&2
return 1
}`;

/** The output of a host that refuses to run a program for its version. */
export const isTrustRefusal = (text: string): boolean => text.startsWith('opsctl did not run ');

type Named = readonly [key: string, path: string | undefined];
/**
 * Prints `untrusted=KEY: REASON` for each program and file of a member that another user of its host could
 * replace. The owner of the data directory may own the programs that run as that user, and the files of the
 * data.
 */
export const trustScript = (member: MemberSpec): ShellScript => {
  const ran: Named[] = (['old_binary', 'new_binary', 'binary_path', 'manifest'] as const).map((key) => [
    ...([key, member[key]] as const),
  ]);
  const started: Named[] = (['old', 'new'] as const).map((which) => [
    `${which}_command`,
    commandOf(member, which)?.[0],
  ]);
  const written: Named[] = (['pid_file', 'log_file'] as const).map((key) => [key, member[key]]);
  const isPath = ([, path]: Named): boolean => path?.startsWith('/') === true;
  return sh`u_service=$(LC_ALL=C ls -ldnL -- ${member.data_dir} 2>/dev/null | awk '{ print $3 }')
report() { u_why=$(untrusted "$2" "$3" "$4"); [ -z "$u_why" ] || echo "untrusted=$1: $u_why"; }
${shellLines([
  ...ran.filter(isPath).map(([key, path]) => sh`report ${key} ${path} '' run`),
  ...started.filter(isPath).map(([key, path]) => sh`report ${key} ${path} "$u_service" run`),
  ...written.filter(isPath).map(([key, path]) => sh`report ${key} ${path} "$u_service" write`),
])}`;
};

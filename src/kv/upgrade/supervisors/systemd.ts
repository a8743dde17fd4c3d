import { trustFunctions } from './member-process.ts';
import { sh, shellLine, type ShellScript } from '../../../core/shell.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import type { MemberSpec, Move, Placement, StepKind } from '../../engine/model.ts';
import {
  versionScript,
  fileFunctions,
  lastLine,
  type MakeService,
  type ProcessState,
  valuesIn,
  waitFor,
  waitForKilled,
  type Which,
} from './driver.ts';

const shown = [
  ...['LoadState', 'ActiveState', 'SubState', 'MainPID', 'Result', 'ExecMainStatus', 'NRestarts', 'Job'],
  'StatusText',
];
const show = ({ unit }: MemberSpec): ShellScript =>
  sh`systemctl show ${shown.flatMap((name) => ['-p', name])} -- ${unit}`;

/** Failures of systemd before the program started, in the words of systemd.exec(5), "Process Exit Codes". */
const beforeTheProgram: Readonly<Record<string, string>> = {
  200: 'CHDIR',
  203: 'EXEC',
  205: 'LIMITS',
  209: 'STDOUT',
  216: 'GROUP',
  217: 'USER',
  218: 'CAPABILITIES',
  219: 'CGROUP',
  226: 'NAMESPACE',
  228: 'SECCOMP',
  238: 'STATE_DIRECTORY',
};
/**
 * systemd was still removing the control group of the previous process
 * (github.com/systemd/systemd/issues/23164): the program is not the cause.
 */
const noGroup = '219';

const statusText = (status: string): string =>
  status === ''
    ? ''
    : `, exit status ${[status, beforeTheProgram[status]].filter((part) => part !== undefined).join('/')}`;

/** After a signal, ExecMainStatus is the number of the signal. Pure. */
const exitOf = (result: string, status: string): { readonly exitCode?: number } =>
  result === 'exit-code' && status !== '' ? { exitCode: Number(status) } : {};
/**
 * spec/store#measured-service-managers. A unit of Type=notify is `activating` until the member has joined.
 * After a crash with Restart= it is `activating/auto-restart` without a process. Between `start --no-block`
 * and the manager's next step it is `inactive` with a job. Pure.
 */
export const unitState = (text: string, unit: string | undefined): ProcessState => {
  const seen = valuesIn(text);
  const of = (key: string): string => seen.get(key) ?? '';
  const pid = Number(of('MainPID'));
  const own = pid > 1 ? { pid } : {};
  const status = of('ExecMainStatus');
  const ended = `${of('Result')}${statusText(status)}`;
  const exit = exitOf(of('Result'), status);
  if (of('LoadState') === 'not-found') return { state: 'gone', reason: `unit not found: ${unit}` };
  switch (of('ActiveState')) {
    case 'active':
    case 'reloading':
    case 'deactivating':
      return pid > 1
        ? { state: 'running', ...own }
        : { state: 'gone', reason: `${unit} has no main process` };
    case 'activating':
      // The process exited and the manager will try again: a crash at the start will repeat.
      if (of('SubState') === 'auto-restart' && status !== noGroup)
        return { state: 'gone', reason: `${unit} exited (${ended}) and waits for its next restart`, ...exit };
      return {
        state: 'starting',
        awaits: `${unit} is ${of('ActiveState')} (${of('SubState')})`,
        ...own,
      };
    case 'failed':
      return {
        state: 'gone',
        reason: `${unit} failed (${ended})`,
        ...exit,
        ...(status === noGroup ? { hasNotRun: true } : {}),
      };
    case 'inactive':
      return of('Job') === '' || of('Job') === '0'
        ? { state: 'gone', reason: `${unit} is inactive` }
        : { state: 'starting', awaits: `the start job of ${unit}` };
    default:
      return { state: 'unknown', reason: `systemctl show printed no ActiveState of ${unit}` };
  }
};

/** The only command that the unit starts, with the specifiers and variables of its files. */
const execStart = (unit: string | undefined): ShellScript => sh`systemctl cat -- ${unit} | awk '
/\\\\$/ { sub(/\\\\$/, " "); part = part $0; next }
{ line = part $0; part = "" }
line ~ /^[ \\t]*ExecStart[ \\t]*=/ { sub(/^[^=]*=[ \\t]*/, "", line); if (line == "") n = 0; else { n++; last = line } }
END { if (n != 1) exit 1; print last }'`;

/**
 * The file of the running program, which the unit starts. `$L` is that command, `$M` its prefix characters,
 * `$P` the program.
 */
const program = (member: MemberSpec): ShellScript =>
  member.binary_path === undefined
    ? sh`L=$(${execStart(member.unit)}) || { echo "the unit ${member.unit} has not exactly one ExecStart" >&2; exit 3; }
M=$(printf %s "$L" | sed 's/^\\([-@:+!|]*\\).*/\\1/'); L=\${L#"$M"}
P=\${L%%[[:space:]]*}
case "$P" in /*) ;; *) P=$(command -v "$P") || { echo "$P is not found" >&2; exit 3; };; esac`
    : sh`P=${member.binary_path}
case "$P" in *.opsctl-*) echo "binary_path $P is a program that opsctl keeps; remove binary_path" >&2; exit 3;; esac`;

/**
 * The program of the main process, even if its file was replaced since the start. A wrapper does not count.
 */
const runningProgram = ({ unit }: MemberSpec): ShellScript => sh`R=$(readlink -f "$P"); [ -n "$R" ] || R=$P
X=$(systemctl show -p MainPID --value -- ${unit}) || X=0
E=$(readlink "/proc/$X/exe" 2>/dev/null) || E=
if [ "\${E%% (deleted)}" = "$R" ]; then S=/proc/$X/exe; else S=$R; fi`;

const dropIn = (unit: string | undefined, minor: Minor): string =>
  `/etc/systemd/system/${unit}.d/90-opsctl-${minor}.conf`;

/**
 * Written next to its file and renamed: if the member crashes during the write, the unit starts the previous
 * program.
 */
const select = (member: MemberSpec, file: string, target: string): ShellScript => sh`${program(member)}
D=${file}; mkdir -p "$(dirname "$D")"
printf '# Written by opsctl: which program this member runs.\\n[Service]\\nExecStart=\\nExecStart=%s%s%s\\n' "$M" ${target} "\${L#"\${L%%[[:space:]]*}"}" > "$D.incoming"
mv -f "$D.incoming" "$D"
systemctl daemon-reload
case "$(${execStart(member.unit)})" in "$M"${target}|"$M"${target}" "*) ;; *) echo "another drop-in of ${member.unit} overrides ExecStart after $D" >&2; exit 3;; esac`;

const checkRecorded = (file: string | undefined, sha256: string | undefined): ShellScript =>
  sh`[ "$(digest ${file} 2>/dev/null)" = ${sha256} ] || { echo "${file} is not the program that was recorded" >&2; exit 5; }`;

/** Restores a link of the operator or of a package, if it leads to the recorded program. */
const linkAgain = (target: string | undefined, sha256: string | undefined): ShellScript =>
  target === undefined
    ? sh``
    : sh`rm -f "$P.incoming"; ln -s -- ${target} "$P.incoming"
if [ "$(digest "$P.incoming" 2>/dev/null)" = ${sha256} ]; then mv -fT "$P.incoming" "$P"; exit 0; fi
rm -f "$P.incoming"`;

/** A run of an earlier opsctl has no record: only a program in the cluster file can be restored. */
const withoutRecord = ({ binary_path, old_binary }: MemberSpec): ShellScript =>
  binary_path === undefined || old_binary === undefined
    ? sh`true`
    : sh`set -e
${fileFunctions}
[ "$(digest ${binary_path} 2>/dev/null)" = "$(digest ${old_binary})" ] || put ${old_binary} ${binary_path}`;

const stage = (member: MemberSpec, { from, to }: Move): ShellScript =>
  member.new_binary === undefined
    ? sh`true`
    : sh`set -e
${fileFunctions}
${program(member)}
${trustFunctions}
trusted "$P" || exit 3
trusted ${member.new_binary} || exit 3
${runningProgram(member)}
B=\${P%%.opsctl-*}
old=$(digest "$S"); new=$(digest ${member.new_binary})
K=$B.opsctl-${from}-$(printf %.12s "$old"); N=$B.opsctl-${to}-$(printf %.12s "$new")
keep() { if [ "$(digest "$2" 2>/dev/null)" != "$3" ]; then rm -f "$2.incoming"; cp "$1" "$2.incoming"; chmod 755 "$2.incoming"; mv -f "$2.incoming" "$2"; fi; }
keep "$S" "$K" "$old"; keep ${member.new_binary} "$N" "$new"
printf 'previous.program=%s\\nprevious.program_sha256=%s\\nnext.program=%s\\nnext.program_sha256=%s\\n' "$K" "$old" "$N" "$new"
${member.binary_path === undefined ? sh`echo ${`next.drop_in=${dropIn(member.unit, to)}`}` : sh`if [ -L "$P" ]; then echo "previous.link_target=$(readlink "$P")"; fi`}`;

type Recorded = Placement & { readonly next: { readonly program: string } };
const isRecorded = (placement: Placement | undefined): placement is Recorded =>
  placement?.next.program !== undefined && placement.previous.program !== undefined;

const activateDropIn = (member: MemberSpec, which: Which, { next }: Recorded, file: string): ShellScript =>
  which === 'new'
    ? sh`set -e
${fileFunctions}
${checkRecorded(next.program, next.program_sha256)}
${select(member, file, next.program)}`
    : sh`rm -f ${file} && systemctl daemon-reload`;

const activateFile = (member: MemberSpec, which: Which, { next, previous }: Recorded): ShellScript => {
  const { program: source, program_sha256: sha256 } = which === 'new' ? next : previous;
  return sh`set -e
${fileFunctions}
P=${member.binary_path}
${which === 'old' ? linkAgain(previous.link_target, sha256) : sh``}
[ "$(digest "$P" 2>/dev/null)" != ${sha256} ] || exit 0
${checkRecorded(source, sha256)}
put ${source} "$P"`;
};

const activate = (member: MemberSpec, which: Which, placement: Placement | undefined): ShellScript => {
  if (!isRecorded(placement)) return which === 'old' ? withoutRecord(member) : sh`true`;
  const file = placement.next.drop_in;
  return file === undefined
    ? activateFile(member, which, placement)
    : activateDropIn(member, which, placement, file);
};

const describe = (kind: StepKind, member: MemberSpec): string[] => {
  const { unit = '', new_binary: program = '', binary_path: path = '' } = member;
  if (kind === 'stop') return [shellLine(['systemctl', 'stop', unit])];
  if (kind !== 'start') return [];
  const start = shellLine(['systemctl', 'start', unit]);
  if (member.new_binary === undefined) return [start];
  return member.binary_path === undefined
    ? [`${shellLine(['systemctl', 'edit', unit])}  # ExecStart= with ${shellLine([program])}`, start]
    : [shellLine(['cp', '-p', program, path]), start];
};

export const systemdService: MakeService = () => ({
  look: show,
  pid: ({ unit }) => sh`systemctl show -p MainPID --value -- ${unit}`,
  startFiles: ({ unit }) => sh`systemctl show -p FragmentPath -- ${unit} | sed 's/^[A-Za-z]*=//'
systemctl show -p DropInPaths -- ${unit} | sed 's/^[A-Za-z]*=//' | tr ' ' '\\n'
systemctl show -p EnvironmentFiles -- ${unit} | sed 's/^[A-Za-z]*=//; s/ (ignore_errors=[a-z]*)$//'`,
  // The variables of the service manager, and the text of a script that starts the server.
  definition: ({ unit }) => sh`systemctl cat -- ${unit} && systemctl show-environment || exit 1
systemctl show -p EnvironmentFiles -- ${unit} | sed -n 's/^EnvironmentFiles=//p' | { while read -r e how; do
case "$how" in *ignore_errors=yes*) [ ! -r "$e" ] || cat "$e" || exit 1;; *) cat $e || exit 1;; esac; done; } || exit 1
for x in $(systemctl show -p ExecStart -- ${unit} | sed -n 's/.*path=\\([^ ;]*\\).*/\\1/p'); do [ "$(head -c 2 "$x")" != '#!' ] || cat "$x" || exit 1; done`,
  definitionFile: () => sh`cat "$c"`,
  stateFrom: (done, { unit }) =>
    done.code === 0
      ? unitState(done.stdout, unit)
      : { state: 'unknown', reason: `systemctl show: ${lastLine(done)}` },
  stop: ({ unit }, graceMs) => sh`systemctl stop --no-block -- ${unit} || exit 3
${waitFor(sh`case "$(systemctl show -p ActiveState --value -- ${unit})" in inactive|failed) true;; *) false;; esac`, graceMs)}`,
  // A pending stop would delay the start.
  kill: ({ unit }) => sh`systemctl stop --no-block -- ${unit}; systemctl kill --signal=SIGKILL -- ${unit}
${waitForKilled(sh`case "$(systemctl show -p ActiveState --value -- ${unit})" in inactive|failed) true;; *) false;; esac`)}`,
  stage,
  activate,
  discard: (_member, { next }) =>
    next.program === undefined
      ? sh`true`
      : sh`[ -e ${next.drop_in ?? '/nonexistent'} ] || rm -f ${next.program}`,
  start: ({ unit }) =>
    sh`systemctl reset-failed -- ${unit} 2>/dev/null; systemctl start --no-block -- ${unit}`,
  logTail: ({ unit }, lines) => sh`journalctl -u ${unit} -n ${lines} --no-pager -o cat`,
  version: (member, which) =>
    which === 'new'
      ? versionScript(member.new_binary)
      : sh`${program(member)}
${runningProgram(member)}
[ -e "$S" ] || P=${member.old_binary} S=${member.old_binary}
trusted "$P" && "$S" --version`,
  describe,
});

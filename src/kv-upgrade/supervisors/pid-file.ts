import { argvOf, shellLine } from '../cluster/command-line.ts';
import type { MemberSpec } from '../types.ts';
import type { Which } from './driver.ts';
import { askedVersion, quoted, waitFor } from './service.ts';
import type { MakeService } from './service.ts';

const commandOf = (member: MemberSpec, which: Which): string =>
  shellLine(argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? []);

/** The last look is for one whose parent noticed its end after the first. */
const alive = (member: MemberSpec): string =>
  `pid=$(cat ${quoted(member.pid_file)} 2>/dev/null) && kill -0 "$pid" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null && kill -0 "$pid" 2>/dev/null`;
/** A process with a pid file on another host. */
export const pidFileService: MakeService = () => ({
  look: alive,
  stateFrom: ({ code }) => (code === 0 ? { state: 'running' } : { state: 'gone' }),
  // A pid that another program has by now is not signalled: its command line must name the member.
  stop: (member, graceMs) => `${alive(member)} || exit 0
if [ -r "/proc/$pid/cmdline" ] && ! tr '\\0' ' ' < "/proc/$pid/cmdline" | grep -qF -e ${quoted(member.data_dir ?? member.client_url)} -e ${quoted(member.client_url)}; then echo "process $pid is not this member" >&2; exit 3; fi
kill -TERM "$pid"
${waitFor(`! { ${alive(member)}; }`, graceMs)}`,
  kill: (member) => `${alive(member)} && kill -KILL "$pid"; sleep 0.2; true`,
  start: (member, which) => {
    const env = Object.entries(member.env ?? {})
      .map(([key, value]) => `${key}=${quoted(value)} `)
      .join('');
    return `${alive(member)} && { echo "it runs already (process $pid)" >&2; exit 4; }
${env}nohup /bin/sh -c 'echo "$$" > "$0"; exec "$@"' ${quoted(member.pid_file)} ${commandOf(member, which)} >> ${quoted(member.log_file)} 2>&1 < /dev/null &
exit 0`;
  },
  logTail: (member, lines) => `tail -n ${lines} ${quoted(member.log_file)}`,
  version: (member, which) =>
    askedVersion(member[`${which}_binary`] ?? argvOf(member[`${which}_command`], undefined)?.[0]),
  describe: (kind, member, which) => {
    if (kind === 'stop') return [`kill -TERM "$(cat ${member.pid_file})"`];
    return kind === 'start' ? [`${commandOf(member, which)} >> ${member.log_file} 2>&1 &`] : [];
  },
});

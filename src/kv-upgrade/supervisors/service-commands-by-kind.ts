import { argvOf, filled, shellLine } from '../cluster/command-line.ts';
import type { MemberSpec } from '../types.ts';
import type { Which } from './driver.ts';
import { quoted, waitFor } from './service-commands.ts';
import type { MakeSteering } from './service-commands.ts';

const commandOf = (member: MemberSpec, which: Which): string =>
  shellLine(argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? []);
const askedVersion = (binary: string | undefined): string | undefined =>
  binary === undefined ? undefined : `${quoted(binary)} --version`;

/** The last look is for one whose parent noticed its end after the first. */
const alive = (member: MemberSpec): string =>
  `pid=$(cat ${quoted(member.pid_file)} 2>/dev/null) && kill -0 "$pid" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null && kill -0 "$pid" 2>/dev/null`;
/** A process with a pid file on another host. */
export const pidFileSteering: MakeSteering = () => ({
  isRunning: alive,
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

/** Old program of a unit whose binary is replaced in place: kept beside it. */
const kept = (member: MemberSpec): string => `${member.binary_path}.before-upgrade`;
export const systemdSteering: MakeSteering = () => ({
  isRunning: ({ unit }) => `systemctl is-active --quiet ${quoted(unit)}`,
  stop: ({ unit }, graceMs) => `systemctl stop --no-block ${quoted(unit)} || exit 3
${waitFor(`case "$(systemctl is-active ${quoted(unit)})" in active|deactivating|reloading|activating) false;; *) true;; esac`, graceMs)}`,
  kill: ({ unit }) => `systemctl kill --signal=SIGKILL ${quoted(unit)}; sleep 0.5; true`,
  install: (member, which) => {
    const { binary_path: path, new_binary: fresh, old_binary: old } = member;
    if (path === undefined || fresh === undefined) return 'true';
    const source = which === 'new' ? fresh : (old ?? kept(member));
    // The file is renamed into place: the running process keeps the one it has.
    return `set -e
[ -e ${quoted(kept(member))} ] || cp -p ${quoted(path)} ${quoted(kept(member))}
cp -p ${quoted(source)} ${quoted(`${path}.incoming`)}
mv -f ${quoted(`${path}.incoming`)} ${quoted(path)}`;
  },
  start: ({ unit }) =>
    `systemctl reset-failed ${quoted(unit)} 2>/dev/null; systemctl start --no-block ${quoted(unit)}`,
  logTail: ({ unit }, lines) => `journalctl -u ${quoted(unit)} -n ${lines} --no-pager -o cat`,
  version: (member, which) =>
    askedVersion(which === 'new' ? member.new_binary : (member.old_binary ?? member.binary_path)),
  describe: (kind, member) => {
    if (kind === 'stop')
      return [
        ...(member.binary_path === undefined ? [] : [`cp -p ${member.new_binary} ${member.binary_path}`]),
        `systemctl stop ${member.unit}`,
      ];
    return kind === 'start' ? [`systemctl start ${member.unit}`] : [];
  },
});

const words = (member: MemberSpec, which: Which): Record<string, string | undefined> => ({
  container: member.container,
  image: member[`${which}_image`],
  name: member.name,
  data_dir: member.data_dir,
  client_url: member.client_url,
});
const before = (member: MemberSpec): string => `${member.container}-before`;
export const dockerSteering: MakeSteering = () => ({
  isRunning: ({ container }) =>
    `[ "$(docker inspect -f '{{.State.Running}}' ${quoted(container)} 2>/dev/null)" = true ]`,
  stop: ({ container }, graceMs) =>
    `docker stop -t ${Math.ceil(graceMs / 1000)} ${quoted(container)} >/dev/null`,
  kill: ({ container }) => `docker kill ${quoted(container)} >/dev/null`,
  // The old container is renamed, not removed: it is the way back, with everything it was started with.
  start: (member, which) =>
    which === 'new'
      ? `set -e
if ! docker inspect ${quoted(before(member))} >/dev/null 2>&1; then docker rename ${quoted(member.container)} ${quoted(before(member))}; else docker rm -f ${quoted(member.container)} >/dev/null 2>&1 || true; fi
${shellLine(filled(member.new_command ?? 'docker run -d --name {container} {image}', words(member, 'new')))} >/dev/null`
      : `set -e
if docker inspect ${quoted(before(member))} >/dev/null 2>&1; then docker rm -f ${quoted(member.container)} >/dev/null 2>&1 || true; docker rename ${quoted(before(member))} ${quoted(member.container)}; fi
docker start ${quoted(member.container)} >/dev/null`,
  logTail: ({ container }, lines) => `docker logs --tail ${lines} ${quoted(container)} 2>&1`,
  version: (member, which) =>
    member[`${which}_image`] === undefined
      ? undefined
      : `docker run --rm --entrypoint ${quoted(member[`${which}_binary`] ?? 'etcd')} ${quoted(member[`${which}_image`])} --version`,
  describe: (kind, member, which) => {
    if (kind === 'stop') return [`docker stop ${member.container}`];
    return kind === 'start'
      ? [
          `docker rename ${member.container} ${before(member)}`,
          shellLine(filled(member.new_command ?? '', words(member, which))),
        ]
      : [];
  },
});

/** Outside the directory that the kubelet watches. */
const parked = ({ manifest }: MemberSpec): string =>
  `$(dirname "$(dirname ${quoted(manifest)})")/$(basename ${quoted(manifest)}).parked`;
const podRuns = (member: MemberSpec): string =>
  `ps -eo args= | grep -v grep | grep -qF -- ${quoted(member.data_dir ?? member.client_url)}`;
export const staticPodSteering: MakeSteering = () => ({
  isRunning: podRuns,
  stop: (member, graceMs) => `set -e
if [ -e ${quoted(member.manifest)} ]; then mv -f ${quoted(member.manifest)} "${parked(member)}"; fi
set +e
${waitFor(`! { ${podRuns(member)}; }`, graceMs)}`,
  kill: (member) =>
    `ps -eo pid=,args= | grep -v grep | grep -F -- ${quoted(member.data_dir ?? member.client_url)} | while read -r pid rest; do kill -KILL "$pid"; done; true`,
  start: (member, which) => {
    const [to, from] =
      which === 'new' ? [member.new_image, member.old_image] : [member.old_image, member.new_image];
    return `set -e
source="${parked(member)}"; [ -e "$source" ] || source=${quoted(member.manifest)}
FROM=${quoted(from)} TO=${quoted(to)} awk '{ at = index($0, ENVIRON["FROM"]); if (/image:/ && at > 0) $0 = substr($0, 1, at - 1) ENVIRON["TO"] substr($0, at + length(ENVIRON["FROM"])); print }' "$source" > "$source.changed"
mv -f "$source.changed" ${quoted(member.manifest)}
rm -f "${parked(member)}"`;
  },
  logTail: (member, lines) =>
    member.log_file === undefined ? 'true' : `tail -n ${lines} ${quoted(member.log_file)}`,
  version: (member, which) =>
    askedVersion(member[`${which}_binary`]) ??
    `printf '%s\\n' ${quoted(member[`${which}_image`])} | sed 's/.*:v*//'`,
  describe: (kind, member, which) => {
    if (kind === 'stop') return [`mv ${member.manifest} ${parked(member)}`];
    return kind === 'start' ? [`write ${member.manifest} with image ${member[`${which}_image`]}`] : [];
  },
});

const hookValues = (member: MemberSpec, which: Which, to?: string): Record<string, string | undefined> => ({
  ...words(member, which),
  binary: member[`${which}_binary`],
  config: member.config_file,
  version: which,
  to,
  host: member.host,
  unit: member.unit,
});
export const hooksSteering: MakeSteering = ({ hooks = {}, to }) => {
  const line = (name: keyof typeof hooks, member: MemberSpec, which: Which): string | undefined =>
    hooks[name] === undefined ? undefined : shellLine(filled(hooks[name], hookValues(member, which, to)));
  return {
    isRunning: (member) => line('is_running', member, 'old') ?? 'exit 77',
    stop: (member) => line('stop', member, 'old') ?? 'exit 1',
    kill: (member) => line('stop', member, 'new') ?? 'exit 1',
    start: (member, which) => line(which === 'new' ? 'start_new' : 'start_old', member, which) ?? 'exit 1',
    logTail: (member) => line('log', member, 'old') ?? 'true',
    version: (member, which) =>
      line(which === 'new' ? 'new_version' : 'old_version', member, which) ??
      askedVersion(member[`${which}_binary`]),
    describe: (kind, member, which) =>
      kind === 'stop'
        ? [line('stop', member, 'old') ?? '']
        : kind === 'start'
          ? [line(which === 'new' ? 'start_new' : 'start_old', member, which) ?? '']
          : [],
  };
};

import { sh, type ShellScript, argvOf, fillWords, shellLine } from '../../../core/shell.ts';
import type { Host } from '../../../platform/host.ts';
import type { ClusterFile, DriverKind, MemberSpec } from '../../engine/model.ts';
import { stopGraceMs } from '../cluster/cluster-file.ts';
import { driverHookValues } from '../cluster/drivers.ts';
import {
  versionScript,
  type Driver,
  lastLine,
  type MakeService,
  type Service,
  type Shell,
  waitFor,
  waitForKilled,
  type Which,
} from './driver.ts';

const variable = 'ETCD_INITIAL_ELECTION_TICK_ADVANCE';
/**
 * A flag overrides the environment, and with a configuration file the servers read neither flags nor
 * environment.
 */
const isDecided = (member: MemberSpec, which: Which): boolean =>
  member.env?.[variable] !== undefined ||
  (argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? []).some((word) =>
    /^--?(initial-election-tick-advance|config-file)(=|$)/.test(word),
  );
/**
 * A member that restarts advances its election clock by eight of ten ticks when any two peers are connected.
 * If its leader is not connected yet, the member starts an election a moment later with an old log. It gets
 * no votes, but its newer term makes the leader step down, and clients cannot write for one to two seconds.
 * Measured with 5 members 3.2 → 3.3: in one of ten upgrades. Without the advance
 * (--initial-election-tick-advance=false) it waits for its leader like other followers.
 */
export const withDelayedElection = (driver: Driver, size: number): Driver => {
  if (size === 1) return driver;
  return {
    ...driver,
    start: (member, which, placement) =>
      driver.start(
        isDecided(member, which) ? member : { ...member, env: { ...member.env, [variable]: 'false' } },
        which,
        placement,
      ),
    describe: (kind, member, which) => {
      const commands = driver.describe(kind, member, which);
      return kind === 'start' && !isDecided(member, which)
        ? commands.map((line) => `${variable}=false ${line}`)
        : commands;
    },
  };
};

/**
 * Opens the driver of the cluster file and loads only its modules. `state`: the directory of this user's
 * state.
 */
export const openDriver = async (host: Host, cluster: ClusterFile, state?: string): Promise<Driver> => {
  const kind = cluster.driver ?? 'local';
  const size = cluster.members.length;
  if (kind === 'local') return withDelayedElection((await import('./local.ts')).localDriver(host), size);
  const { scriptDriver } = await import('./script-driver.ts');
  const by = kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : kind;
  const shells = await shellsOf(host, cluster, state);
  const driver = scriptDriver(host, cluster, shells, await serviceOf(by, cluster));
  const patient =
    kind === 'ssh' ? (await import('./ssh.ts')).reconnecting(driver, host, stopGraceMs(cluster)) : driver;
  // Units, containers and hooks have separate environments.
  return by === 'local' ? withDelayedElection(patient, size) : patient;
};
const serviceOf = async (kind: Exclude<DriverKind, 'ssh'>, cluster: ClusterFile): Promise<Service> => {
  switch (kind) {
    case 'local':
      return (await import('./pid-file.ts')).pidFileService(cluster);
    case 'systemd':
      return (await import('./systemd.ts')).systemdService(cluster);
    case 'docker':
    case 'podman':
      return (await import('./docker.ts')).containerService(kind)(cluster);
    case 'static-pod':
      return (await import('./static-pod.ts')).staticPodService(cluster);
    default:
      return hooksService(cluster);
  }
};
/** A shell on the host of each member: over ssh or local. */
export const shellsOf = async (
  host: Host,
  cluster: ClusterFile,
  state?: string,
): Promise<(member: MemberSpec) => Shell> => {
  if (cluster.driver !== 'ssh') {
    const { localShell } = await import('./driver.ts');
    return () => localShell(host);
  }
  const { openSsh, sshShell } = await import('./ssh.ts');
  const ssh = openSsh(host, cluster, state);
  return (member) => sshShell(ssh, member);
};

/** Exit codes of `is_running`: 0 running, 75 (EX_TEMPFAIL) starting, 77 unknown, other codes not running. */
const [STARTING, UNKNOWN] = [75, 77];
const stateFrom: Service['stateFrom'] = (done, _, wasStarted) => {
  if (done.code === 0) return { state: 'running' };
  if (done.code === UNKNOWN || done.code === null)
    return { state: 'unknown', reason: `the hook is_running reports an unknown state: ${lastLine(done)}` };
  // start_new may return before the process exists. Until the process has been observed, only the time limit
  // of the health check counts.
  return done.code === STARTING || wasStarted
    ? { state: 'starting', awaits: `the hook is_running (exit code ${done.code})` }
    : { state: 'gone', reason: `the hook is_running failed with exit code ${done.code}` };
};
/** Variables of this program may be secrets, and a hook could pass them to a server. */
const withoutOwn = sh`for v in $(env | sed -n 's/^\\(OPSCTL_[A-Za-z0-9_]*\\)=.*/\\1/p'); do unset "$v"; done`;
const isGone = (runs: ShellScript): ShellScript =>
  sh`( ${runs} ) >/dev/null 2>&1; c=$?; [ $c -ne 0 ] && [ $c -ne ${STARTING} ] && [ $c -ne ${UNKNOWN} ]`;
/** Exit code 0 of the hook only means that the signal was sent. If is_running exists, it reports the end of the process. */
const killScript = (kill: ShellScript | undefined, runs: ShellScript | undefined): ShellScript => {
  if (kill === undefined)
    return sh`echo "the cluster file has no hook kill: the process was not killed" >&2; exit 3`;
  return runs === undefined
    ? kill
    : sh`( ${kill} ) || exit $?
${waitForKilled(isGone(runs))}`;
};
export const hooksService: MakeService = ({ hooks = {}, to }) => {
  const words = (name: keyof typeof hooks, member: MemberSpec, which: Which): string[] | undefined =>
    hooks[name] === undefined ? undefined : fillWords(hooks[name], driverHookValues(member, which, to));
  const line = (name: keyof typeof hooks, member: MemberSpec, which: Which): ShellScript | undefined => {
    const all = words(name, member, which);
    return all === undefined ? undefined : sh`${all}`;
  };
  const showHook = (name: keyof typeof hooks, member: MemberSpec, which: Which): string =>
    shellLine(words(name, member, which) ?? []);
  const runs = (member: MemberSpec): ShellScript => line('is_running', member, 'old') ?? sh`exit ${UNKNOWN}`;
  return {
    look: runs,
    stateFrom,
    // Exit code 0 of the stop only means that the stop was requested. If is_running exists, it reports the
    // exit of the process.
    stop: (member, graceMs) => {
      const stop = line('stop', member, 'old') ?? sh`exit 2`;
      if (hooks.is_running === undefined) return sh`( ${stop} ) || exit 3; exit 0`;
      return sh`( ${stop} ) || exit 3
${waitFor(isGone(runs(member)), graceMs)}`;
    },
    kill: (member) =>
      killScript(line('kill', member, 'old'), hooks.is_running === undefined ? undefined : runs(member)),
    start: (member, which) =>
      sh`${withoutOwn}
${line(which === 'new' ? 'start_new' : 'start_old', member, which) ?? sh`exit 2`}`,
    logTail: (member) => line('log', member, 'old') ?? sh`true`,
    version: (member, which) =>
      line(which === 'new' ? 'new_version' : 'old_version', member, which) ??
      versionScript(member[`${which}_binary`]),
    describe: (kind, member, which) => {
      if (kind === 'stop') return [showHook('stop', member, 'old')];
      return kind === 'start' ? [showHook(which === 'new' ? 'start_new' : 'start_old', member, which)] : [];
    },
  };
};

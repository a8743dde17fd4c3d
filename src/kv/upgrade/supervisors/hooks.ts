import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import { filled, shellLine } from '../cluster/command-line.ts';
import type { MemberSpec } from '../../engine/types.ts';
import type { Which } from './driver.ts';
import { askedVersion, lastLine, waitFor } from './service.ts';
import type { MakeService, Service } from './service.ts';

/** Exit codes of `is_running`: 0 runs, 75 (EX_TEMPFAIL) is being started, 77 cannot be told, anything else does not run. */
const [STARTING, UNKNOWN] = [75, 77];

const hookValues = (member: MemberSpec, which: Which, to?: string): Record<string, string | undefined> => ({
  container: member.container,
  image: member[`${which}_image`],
  name: member.name,
  data_dir: member.data_dir,
  client_url: member.client_url,
  binary: member[`${which}_binary`],
  config: member.config_file,
  version: which,
  to,
  host: member.host,
  unit: member.unit,
});

const stateFrom: Service['stateFrom'] = (done, _, wasStarted) => {
  if (done.code === 0) return { state: 'running' };
  if (done.code === UNKNOWN || done.code === null)
    return { state: 'unknown', reason: `the hook is_running cannot tell: ${lastLine(done)}` };
  // start_new may return before the process is there: until it was seen once, the gate's time counts and nothing else.
  return done.code === STARTING || wasStarted
    ? { state: 'starting', awaits: `the hook is_running (exit code ${done.code})` }
    : { state: 'gone', reason: `the hook is_running ended with exit code ${done.code}` };
};

export const hooksService: MakeService = ({ hooks = {}, to }) => {
  const words = (name: keyof typeof hooks, member: MemberSpec, which: Which): string[] | undefined =>
    hooks[name] === undefined ? undefined : filled(hooks[name], hookValues(member, which, to));
  const line = (name: keyof typeof hooks, member: MemberSpec, which: Which): ShellScript | undefined => {
    const all = words(name, member, which);
    return all === undefined ? undefined : sh`${all}`;
  };
  const shown = (name: keyof typeof hooks, member: MemberSpec, which: Which): string =>
    shellLine(words(name, member, which) ?? []);
  const runs = (member: MemberSpec): ShellScript => line('is_running', member, 'old') ?? sh`exit ${UNKNOWN}`;
  return {
    look: runs,
    stateFrom,
    // Exit 0 of the stop says that it was asked, not that the process has ended: is_running is asked for that, where there is one.
    stop: (member, graceMs) => {
      const stop = line('stop', member, 'old') ?? sh`exit 2`;
      if (hooks.is_running === undefined) return sh`( ${stop} ) || exit 3; exit 0`;
      return sh`( ${stop} ) || exit 3
${waitFor(sh`( ${runs(member)} ) >/dev/null 2>&1; c=$?; [ $c -ne 0 ] && [ $c -ne ${STARTING} ] && [ $c -ne ${UNKNOWN} ]`, graceMs)}`;
    },
    kill: (member) =>
      line('kill', member, 'old') ??
      sh`echo "there is no hook named kill in the cluster file: the process was not killed" >&2; exit 3`,
    start: (member, which) => line(which === 'new' ? 'start_new' : 'start_old', member, which) ?? sh`exit 2`,
    logTail: (member) => line('log', member, 'old') ?? sh`true`,
    version: (member, which) =>
      line(which === 'new' ? 'new_version' : 'old_version', member, which) ??
      askedVersion(member[`${which}_binary`]),
    describe: (kind, member, which) => {
      if (kind === 'stop') return [shown('stop', member, 'old')];
      return kind === 'start' ? [shown(which === 'new' ? 'start_new' : 'start_old', member, which)] : [];
    },
  };
};

import { resolve } from 'node:path';
import { isPathVariable } from '../../../api-specs/etcd/server-variables.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf } from '../configuration/configuration.ts';
import type { Identity, MemberSpec } from '../../engine/types.ts';
import type { Which } from './driver.ts';
import { becomeLike, type ProcessRecord } from './process-record.ts';
import type { ProcessInfo } from './process-table.ts';

/** What a member's successor takes over from its process. */
export const identityOf = (running: ProcessInfo | undefined): Identity | undefined =>
  running === undefined
    ? undefined
    : {
        ...(running.uid === undefined ? {} : { uid: running.uid }),
        ...(running.gid === undefined ? {} : { gid: running.gid }),
        ...(running.groups === undefined ? {} : { groups: running.groups }),
        ...(running.cwd === undefined ? {} : { cwd: running.cwd }),
      };

/** Variables of the operator's that would be settings of the server, of its ctl, or of this program. */
export const isOperatorVariable = (name: string): boolean => /^(ETCD|ETCDCTL|OPSCTL)_/.test(name);

/**
 * A shell that becomes the server: `$1` pid file, then the command. The pid file is written before, so that a crash of ours leaves no process
 * without one. It runs in the directory and as the user of its predecessor; only root can become somebody else.
 */
export const launchWords = (
  member: MemberSpec,
  argv: readonly string[],
  identity: Identity | undefined,
  ownUid: number,
  record?: ProcessRecord,
): string[] => {
  const { uid, gid, groups = [], cwd } = identity ?? {};
  const others = groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')];
  const become =
    ownUid === 0 && uid !== undefined && gid !== undefined && (uid !== 0 || gid !== 0)
      ? ['setpriv', '--reuid', String(uid), '--regid', String(gid), ...others, '--']
      : [];
  const like = becomeLike(record);
  const script = `cd "$2" || exit 1; echo "$$" > "$1" && shift 2 ${like === '' ? '&& ' : `|| exit 1; ${like}`}exec "$@"`;
  return ['-c', script, 'sh', member.pid_file as string, cwd ?? '.', ...become, ...argv];
};

/** Why a process like this one could not be started again; undefined when it can. */
export const identityProblem = (running: ProcessInfo | undefined, ownUid: number): string | undefined =>
  running?.uid === undefined || running.uid === ownUid || ownUid === 0
    ? undefined
    : `its process runs as uid ${running.uid}; this program runs as uid ${ownUid} and could not start it as that`;

const ownVariable = 'ETCD_INITIAL_ELECTION_TICK_ADVANCE';
/**
 * Settings that the running process got from its environment and its successor would not. With a configuration file a server reads
 * neither flags nor environment.
 */
export const environmentProblems = (member: MemberSpec, running: ProcessInfo | undefined): string[] => {
  if (running === undefined || running.words.length === 0) return [];
  if (flagsOf(running.words.slice(1)).has('config-file') || running.env.has('ETCD_CONFIG_FILE')) return [];
  const flags = (['old', 'new'] as const).map((which) =>
    flagsOf(argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? []),
  );
  return [...running.env].flatMap(([name, value]) => {
    const flag = name.slice('ETCD_'.length).toLowerCase().replaceAll('_', '-');
    const isFlag = flags.every((one) => one.has(flag));
    const whole = (text: string | undefined): string | undefined =>
      text !== undefined && isPathVariable(name) ? resolve(running.cwd ?? '/', text) : text;
    if (name === ownVariable || isFlag || whole(member.env?.[name]) === whole(value)) return [];
    // The value may be a path to a secret, or one: it is not repeated.
    return [
      `its process has ${name} in its environment; env in the cluster file has ${member.env?.[name] === undefined ? 'no such name' : 'another value'}`,
    ];
  });
};

export const commandOf = (member: MemberSpec, which: Which): [string, ...string[]] | undefined =>
  argvOf(member[`${which}_command`], member[`${which}_binary`]);

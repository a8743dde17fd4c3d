import { basename } from 'node:path';
import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import { argvOf } from '../cluster/command-line.ts';
import type { MemberSpec } from '../../engine/types.ts';
import { serverVariables, statusOf, wordsIn } from './process-table.ts';
import type { ProcessInfo, ProcessTable } from './process-table.ts';
import type { Ask } from './service.ts';

const programsOf = (member: MemberSpec): string[] => {
  const paths = (['old', 'new'] as const).flatMap((which) => [
    member[`${which}_binary`],
    argvOf(member[`${which}_command`], member[`${which}_binary`])?.[0],
  ]);
  return [...new Set(paths.flatMap((path) => (path === undefined ? [] : [basename(path)])))];
};

/** One look at a host: the process of the pid file, every server, and everybody's parents. One line a process, in base64 where a value may hold anything. */
const lookScript = (member: MemberSpec): ShellScript => {
  const names = programsOf(member).flatMap((name) => ['-e', name]);
  return sh`pid=$(cat ${member.pid_file} 2>/dev/null | tr -cd 0-9)
echo "uid=$(id -u)"
[ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && echo "pid=$pid"
[ -z ${member.data_dir} ] || echo "own=$(readlink -f ${member.data_dir} | base64 | tr -d '\\n')"
[ -d /proc/self ] || { [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null || echo "process=$pid"; exit 0; }
awk '/^PPid:/ { split(FILENAME, at, "/"); print "parent=" at[3] " " $2 }' /proc/[0-9]*/status 2>/dev/null
for d in $( { [ -z "$pid" ] || echo "/proc/$pid/cmdline"; ${names.length === 0 ? sh`:` : sh`grep -laF ${names} /proc/[0-9]*/cmdline 2>/dev/null`}; } | sort -u); do
  d=\${d%/cmdline}; [ -r "$d/status" ] || continue
  e=$(tr '\\0' '\\n' < "$d/environ" 2>/dev/null | grep '^ETCD_' | base64 | tr -d '\\n')
  echo "process=\${d#/proc/} $(base64 < "$d/status" | tr -d '\\n') $(readlink "$d/cwd" | base64 | tr -d '\\n') $(base64 < "$d/cmdline" | tr -d '\\n') \${e:--} $(sed 's/.*) //' "$d/stat" | cut -d' ' -f20)"
done 2>/dev/null
exit 0`;
};

const plain = (text = ''): string => (text === '-' ? '' : Buffer.from(text, 'base64').toString());
const infoFrom = (line: string): ProcessInfo | undefined => {
  // A value that could not be read leaves an empty word: its place counts.
  const [pid, status, cwd, cmdline, env, startMark] = line.split(' ');
  if (!(Number(pid) > 1)) return undefined;
  const place = plain(cwd).trim();
  return {
    pid: Number(pid),
    ...statusOf(plain(status)),
    ...(place === '' ? {} : { cwd: place }),
    words: wordsIn(plain(cmdline)),
    env: serverVariables(plain(env).split('\n')),
    ...(startMark === undefined || startMark === '' ? {} : { startMark }),
  };
};

/** Real names of paths on the host; that of the member's own data directory came with the look. */
const pathsOn = (ask: Ask, own: string, named: string | undefined): ProcessTable['realPath'] => {
  const known = new Map<string, Promise<string | undefined>>();
  if (own !== '' && named !== undefined)
    for (const path of [own, named]) known.set(path, Promise.resolve(own));
  const resolved = async (path: string): Promise<string | undefined> => {
    const real = (await ask(sh`readlink -f ${path} || true`)).trim();
    return real === '' ? undefined : real;
  };
  return (path) => {
    const real = known.get(path) ?? resolved(path);
    known.set(path, real);
    return real;
  };
};

/** `ownUid`: whoever looked, and would start a member. */
export type RemoteProcesses = ProcessTable & { readonly ownUid: number };

/** What one look printed. Pure but for paths that have to be resolved on the host. */
const processesFrom = (text: string, member: MemberSpec, ask: Ask): RemoteProcesses => {
  const values = text.split('\n').map((line): [string, string] => {
    const at = line.indexOf('=');
    return [line.slice(0, Math.max(at, 0)), line.slice(at + 1)];
  });
  const of = (key: string): string[] => values.flatMap(([name, value]) => (name === key ? [value] : []));
  const found = new Map(
    of('process')
      .flatMap((line) => infoFrom(line) ?? [])
      .map((one) => [one.pid, one]),
  );
  const parents = new Map(of('parent').map((line) => line.split(' ').map(Number) as [number, number]));
  const realPath = pathsOn(ask, plain(of('own')[0]).trim(), member.data_dir);
  return {
    ownUid: Number(of('uid')[0]),
    pidIn: async () => {
      const pid = Number(of('pid')[0]);
      // One that ended between the two looks of the script is not there.
      return found.has(pid) ? pid : undefined;
    },
    get: async (pid) => {
      const parent = parents.get(pid);
      return (
        found.get(pid) ?? (parent === undefined ? undefined : { pid, parent, words: [], env: new Map() })
      );
    },
    all: async (programs) =>
      [...found.values()].filter(({ words }) => programs.has(basename(words[0] ?? ''))),
    realPath,
  };
};

export const remoteProcesses = async (member: MemberSpec, ask: Ask): Promise<RemoteProcesses> =>
  processesFrom(await ask(lookScript(member)), member, ask);

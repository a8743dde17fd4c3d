import { AppError, messageOf } from '../../../core/problem.ts';
import { sh, type ShellScript } from '../../../core/shell.ts';
import type { Finished, Host } from '../../../platform/host.ts';
import type { ClusterFile, HostFacts, Installed, MemberSpec, Move, Placement } from '../../engine/model.ts';
import { copyFrom, copyMs, copyScript, startedFacts } from './wal-directory.ts';
import {
  type ScriptRunner,
  type Driver,
  fileFunctions,
  isKillIgnored,
  lastLine,
  makeKillIgnoredError,
  type ProcessState,
  type Script,
  type Service,
  type Shell,
  valuesIn,
  type FactsRequest,
} from './driver.ts';
import { factsFrom, factsScript } from './host-facts.ts';
import { keptConfig } from './member-process.ts';

const failure = (member: MemberSpec, what: string, done: Finished): AppError => {
  const said = lastLine(done);
  return new AppError(
    'stopped',
    `${member.name}: ${what} failed (${done.timedOut ? 'no response in time' : `exit code ${done.code}`}${said === '' ? '' : `: ${said}`})`,
    { code: 'COMMAND_FAILED' },
  );
};

const extraMs = 10_000;

type ShellFor = (member: MemberSpec) => Shell;
/** Runs a script on a member's host. If it fails, the error names the operation. */
type Must = (member: MemberSpec, what: string, script: ShellScript, timeoutMs?: number) => Promise<Finished>;
const mustWith =
  (shellFor: ShellFor): Must =>
  async (member, what, script, timeoutMs) => {
    const done = await shellFor(member).run(script, { timeoutMs });
    if (done.code !== 0) throw failure(member, what, done);
    return done;
  };

/**
 * Members that were started but not observed running yet, by name. The value starts the member again;
 * undefined if this has been used.
 */
type Awaited = Map<string, (() => Promise<unknown>) | undefined>;
/**
 * If the service manager failed to run the program, the member is started again, because the version is not
 * the cause.
 */
const startedAgain = async (
  state: ProcessState,
  { name }: MemberSpec,
  awaited: Awaited,
): Promise<ProcessState> => {
  const again = awaited.get(name);
  if (state.state !== 'gone' || state.hasNotRun !== true || again === undefined) return state;
  awaited.set(name, undefined);
  await again();
  return { state: 'starting', awaits: `its second start, because ${state.reason}` };
};
const look = async (
  service: Service,
  shell: Shell,
  member: MemberSpec,
  awaited: Awaited,
): Promise<ProcessState> => {
  try {
    const ask: ScriptRunner = async (script) => (await shell.run(script)).stdout;
    const state =
      service.processOf === undefined
        ? service.stateFrom(await shell.run(service.look(member)), member, awaited.has(member.name))
        : await service.processOf(member, ask);
    if (state.state === 'running') awaited.delete(member.name);
    return await startedAgain(state, member, awaited);
  } catch (error) {
    return { state: 'unknown', reason: messageOf(error) };
  }
};

/** Requests that are needed to create a script for that member. */
const askWith =
  (must: Must, member: MemberSpec, what: string, timeoutMs?: number): ScriptRunner =>
  async (script) =>
    (await must(member, what, script, timeoutMs)).stdout;
/**
 * Time limit for reading the facts of a host. The script starts programs to read their versions: containers,
 * and servers on a busy machine, where 10 s were not enough.
 */
const factsMs = 60_000;
const makeScript = async (script: Script, ask: ScriptRunner): Promise<ShellScript> =>
  typeof script === 'function' ? script(ask) : script;

const startMs = 60_000;
/** A kill waits for the end of the process with a test that may be a program of the operator. */
const killMs = 60_000;
const processWork = (
  service: Service,
  shellFor: ShellFor,
  must: Must,
): Pick<Driver, 'process' | 'stop' | 'kill' | 'start'> => {
  const awaited: Awaited = new Map();
  return {
    process: (member) => look(service, shellFor(member), member, awaited),
    stop: async (member, graceMs) => {
      awaited.delete(member.name);
      const script = await makeScript(service.stop(member, graceMs), askWith(must, member, 'the stop'));
      const done = await shellFor(member).run(script, {
        timeoutMs: graceMs + extraMs,
      });
      if (done.code !== 0 && done.code !== 1) throw failure(member, 'the stop', done);
      return done.code === 0;
    },
    kill: async (member) => {
      const script = await makeScript(service.kill(member), askWith(must, member, 'ending it'));
      const done = await shellFor(member).run(script, { timeoutMs: killMs });
      if (isKillIgnored(done)) throw makeKillIgnoredError(member);
      if (done.code !== 0) throw failure(member, 'ending it', done);
    },
    start: async (member, which, placement) => {
      const start = async (): Promise<unknown> => {
        const script = service.start(member, which, placement);
        return must(
          member,
          'the start',
          await makeScript(script, askWith(must, member, 'the start')),
          startMs,
        );
      };
      await start();
      awaited.set(member.name, start);
      return {};
    },
  };
};

/** The old file stays complete until the new file is complete. A link stays a link: its target is written. */
const writeScript = (path: string, text: string): ShellScript => sh`set -e
F=$(readlink -f ${path}) || F=${path}
cp -p "$F" "$F.incoming"
printf %s ${Buffer.from(text).toString('base64')} | base64 -d > "$F.incoming"
mv -f "$F.incoming" "$F"`;
const fileWork = (must: Must): Pick<Driver, 'copyData' | 'readFile' | 'writeFile'> => ({
  copyData: async (member, ending, walDir) => {
    const script = copyScript(member.data_dir as string, ending, walDir);
    return copyFrom((await must(member, 'the copy', script, copyMs)).stdout, member);
  },
  readFile: async (member, path) => {
    const script = sh`[ -e ${path} ] || exit 0; echo file; base64 < ${path}`;
    const { stdout } = await must(member, `reading ${path}`, script);
    return stdout.startsWith('file\n') ? Buffer.from(stdout.slice(5), 'base64').toString() : undefined;
  },
  writeFile: async (member, path, text) =>
    void (await must(member, `writing ${path}`, writeScript(path, text))),
});

const keepConfigScript = (member: MemberSpec, move: Move): ShellScript => {
  const kept = keptConfig(member, move);
  return kept === undefined
    ? sh``
    : sh`put ${member.config_file} ${kept} || exit 1
echo previous.config=${kept}`;
};

/** Parses the output of a stage script. Pure. */
const placementFrom = (text: string, member: string, move: Move): Placement => {
  const values = valuesIn(text);
  const of = (prefix: string): Partial<Installed> =>
    Object.fromEntries(
      [...values].flatMap(([key, value]) =>
        key.startsWith(prefix) && value !== '' ? [[key.slice(prefix.length), value]] : [],
      ),
    );
  return {
    member,
    previous: { minor: move.from, ...of('previous.') },
    next: { minor: move.to, ...of('next.') },
  };
};

const placementWork = (service: Service, must: Must): Pick<Driver, 'stage' | 'activate' | 'discard'> => ({
  stage: async (member, move) => {
    const script = sh`${fileFunctions}
( ${service.stage?.(member, move) ?? sh`true`}
)
c=$?; [ $c = 0 ] || exit $c
${keepConfigScript(member, move)}
exit 0`;
    const done = await must(member, 'preparing the new version', script, copyMs);
    const runs_as = await service.runsAs?.(
      member,
      askWith(must, member, 'the check of its process'),
      move.from,
    );
    return {
      ...placementFrom(done.stdout, member.name, move),
      ...(runs_as === undefined ? {} : { runs_as }),
    };
  },
  activate: async (member, which, placement) => {
    const script = service.activate?.(member, which, placement);
    if (script !== undefined) await must(member, 'the switch of the program', script, copyMs);
  },
  discard: async (member, placement) => {
    const script = service.discard?.(member, placement);
    if (script !== undefined) await must(member, 'the cleanup', script);
  },
});

type Parts = {
  readonly host: Host;
  readonly service: Service;
  readonly must: Must;
  readonly work: Pick<Driver, 'process'>;
};
const lookAt = async (
  { host, service, must, work }: Parts,
  member: MemberSpec,
  want: FactsRequest,
): Promise<HostFacts> => {
  const what = 'the check of the host';
  const fromMs = host.now();
  const ask = askWith(must, member, what, factsMs);
  try {
    // A service that provides more facts also reports whether the process exists.
    const [done, own, lost] = await Promise.all([
      must(member, what, factsScript(service, member, want.sizes), factsMs),
      service.facts?.(member, ask, want),
      service.problems?.(member, ask),
    ]);
    const asked = { fromMs, untilMs: host.now() };
    const state: ProcessState =
      own === undefined ? await work.process(member) : { state: 'unknown', reason: '' };
    const facts = await factsFrom(done.stdout, member, asked, state);
    const problems = [...(facts.problems ?? []), ...(own?.problems ?? []), ...(lost ?? [])];
    const seen = { ...facts, ...own, ...(problems.length === 0 ? {} : { problems }) };
    return { ...seen, ...(await startedFacts(member, seen, want, ask)) };
  } catch (error) {
    const reason = messageOf(error);
    return {
      problems: [reason],
      new_binary_error: `cannot check its host: ${reason}`,
      ...(error instanceof AppError && error.detail.code === 'SSH' ? { is_unreachable: true } : {}),
    };
  }
};

/** A driver of shell scripts, local or over ssh, for every kind of installation. */
export const scriptDriver = (
  host: Host,
  cluster: ClusterFile,
  shellFor: ShellFor,
  service: Service,
): Driver => {
  const must = mustWith(shellFor);
  const work = processWork(service, shellFor, must);
  return {
    kind: cluster.driver ?? 'local',
    facts: (member, want) => lookAt({ host, service, must, work }, member, want),
    ...work,
    ...placementWork(service, must),
    ...fileWork(must),
    logTail: async (member, lines, timeoutMs) => {
      const { stdout } = await must(member, 'reading its log', service.logTail(member, lines), timeoutMs);
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .slice(-lines);
    },
    describe: (kind, member, which) =>
      service.describe(kind, member, which).map((command) => shellFor(member).display(command)),
  };
};

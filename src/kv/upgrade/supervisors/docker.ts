import { AppError } from '../../../core/problem.ts';
import { sh, shellLines, type ShellScript, fillWords, shellLine } from '../../../core/shell.ts';
import type { MemberSpec, Move, Placement, StepKind } from '../../engine/model.ts';
import { argumentsLike, type Inspected, lostSettings } from './container-arguments.ts';
import {
  type ScriptRunner,
  lastLine,
  type MakeService,
  type ProcessState,
  type Script,
  valuesIn,
  type Which,
} from './driver.ts';

/** The name for the stored container of the previous version, which keeps all of its settings. */
const keptName = ({ container }: MemberSpec, { from, run }: Move): string => `${container}-${from}-${run}`;
const stateFormat =
  '{{.State.Status}} {{.State.Pid}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.State.Restarting}}';
/** Converts the state of a container to the state of its process. Pure. */
export const containerState = (line: string, container: string | undefined): ProcessState => {
  const [status = '', pid = '', code = '', isOutOfMemory, isRestarting] = line.trim().split(' ');
  const why = `container ${container} exited (exit code ${code}${isOutOfMemory === 'true' ? ', out of memory' : ''})`;
  const own = code === '' || isOutOfMemory === 'true' ? {} : { exitCode: Number(code) };
  if (isRestarting === 'true')
    return { state: 'gone', reason: `${why} and waits for its next restart`, ...own };
  // podman reports "stopping" from the request of a stop until the process exits.
  if (status === 'running' || status === 'paused' || status === 'stopping')
    return { state: 'running', pid: Number(pid) };
  if (status === 'created' || status === 'configured' || status === 'initialized')
    return { state: 'starting', awaits: `container ${container}, which is created` };
  if (status === 'exited' || status === 'dead' || status === 'stopped' || status === 'removing')
    return { state: 'gone', reason: why, ...own };
  return { state: 'unknown', reason: `container ${container} is ${status === '' ? 'in no state' : status}` };
};
const look = (
  tool: ShellScript,
  { container }: MemberSpec,
): ShellScript => sh`s=$(${tool} inspect -f ${stateFormat} ${container} 2>/dev/null) && { echo "state=$s"; exit 0; }
${tool} version >/dev/null 2>&1 || ${tool} info >/dev/null 2>&1 || { echo "${String(tool)} does not respond" >&2; exit 9; }
echo state=; exit 0`;
const policyFormat =
  '{{.HostConfig.RestartPolicy.Name}}{{if .HostConfig.RestartPolicy.MaximumRetryCount}}:{{.HostConfig.RestartPolicy.MaximumRetryCount}}{{end}}';
/** `idof NAME` prints the ID of the container with this name, or no output. */
const helpers = (tool: ShellScript): ShellScript =>
  sh`idof() { ${tool} inspect -f '{{.Id}}' "$1" 2>/dev/null; }`;
const stage = (tool: ShellScript, member: MemberSpec, move: Move): ShellScript => {
  const [name, image] = [member.container, member.new_image];
  return sh`set -e
${helpers(tool)}
id=$(idof ${name}) || { echo "there is no container ${name}" >&2; exit 3; }
owner=$(${tool} inspect -f '{{index .Config.Labels "com.docker.compose.project"}}{{index .Config.Labels "PODMAN_SYSTEMD_UNIT"}}' ${name} 2>/dev/null | sed 's/<no value>//g')
[ -z "$owner" ] || echo "owner=$owner"
if [ -n ${image} ]; then ${tool} image inspect ${image} >/dev/null 2>&1 || ${tool} pull ${image} >&2; echo "next.image=$(${tool} image inspect -f '{{.Id}}' ${image})"; fi
echo "previous.image=$(${tool} inspect -f '{{.Image}}' ${name})"
echo "previous.restart=$(${tool} inspect -f ${policyFormat} ${name})"
echo "previous.container=${keptName(member, move)}"
echo "previous.container_id=$id"`;
};
/**
 * Removes a container with this name that is not the recorded container: this run created it from the new
 * image.
 */
const freeName = (tool: ShellScript, name: string | undefined, id: string | undefined): ShellScript =>
  sh`at=$(idof ${name}) || at=
if [ -n "$at" ] && [ "$at" != ${id} ]; then ${tool} rm -f ${name} >/dev/null; fi`;
const activateNew = (tool: ShellScript, member: MemberSpec, { previous }: Placement): ShellScript => {
  const { container: kept, container_id: id } = previous;
  const name = member.container;
  return sh`set -e
${helpers(tool)}
at=$(idof ${kept}) || at=
if [ "$at" != ${id} ]; then
  ${tool} update --restart=no ${id} >/dev/null 2>&1 || true
  ${tool} rename ${id} ${kept}
fi
${freeName(tool, name, id)}`;
};
const activateOld = (tool: ShellScript, member: MemberSpec, { previous }: Placement): ShellScript => {
  const [name, id] = [member.container, previous.container_id];
  return sh`set -e
${helpers(tool)}
[ -n "$(idof ${id})" ] || { echo "the container ${previous.container} (${previous.container_id}) no longer exists" >&2; exit 5; }
at=$(idof ${name}) || at=
if [ "$at" != ${id} ]; then
  ${freeName(tool, name, id)}
  ${tool} rename ${id} ${name}
fi
${previous.restart === undefined || previous.restart === 'no' || previous.restart === '' ? sh`` : sh`${tool} update --restart=${previous.restart} ${id} >/dev/null 2>&1 || true`}`;
};
const parseInspect = (text: string, what: string): Inspected => {
  try {
    return (JSON.parse(text) as Inspected[])[0] ?? {};
  } catch (cause) {
    throw new AppError('stopped', `cannot inspect ${what}`, { code: 'COMMAND_FAILED', cause });
  }
};
/**
 * Starts an equal container on the new image. Its environment goes through a private file, because it may
 * contain secrets and a process list shows the arguments of a command.
 */
const likeBefore = async (
  tool: ShellScript,
  member: MemberSpec,
  placement: Placement,
  ask: ScriptRunner,
): Promise<ShellScript> => {
  const { previous, next } = placement;
  const [container, image] = [
    parseInspect(await ask(sh`${tool} inspect ${previous.container_id}`), `container ${previous.container}`),
    parseInspect(await ask(sh`${tool} image inspect ${previous.image}`), `image ${previous.image}`),
  ];
  const { words, env } = argumentsLike(
    container,
    image,
    next.image as string,
    previous.restart,
    String(tool) === 'podman',
  );
  // A file of variables has one line per variable. The tool reads a value with several lines from its own
  // environment.
  const isLong = (line: string): boolean => /[\n\r]/.test(line);
  const [short, long] = [env.filter((line) => !isLong(line)), env.filter(isLong)];
  const names = long.flatMap((line) => ['-e', line.slice(0, line.indexOf('='))]);
  const file = sh`${short.length === 0 ? sh`` : sh`--env-file "$F" `}${names.length === 0 ? sh`` : sh`${names} `}`;
  return sh`set -e
umask 077; F=$(mktemp); trap 'rm -f "$F"' EXIT
printf %s ${Buffer.from(short.map((line) => `${line}\n`).join('')).toString('base64')} | base64 -d > "$F"
${shellLines(long.map((line) => sh`export ${line}`))}
${tool} run -d --name ${member.container} ${file}${words} >/dev/null`;
};
const wordsFor = (member: MemberSpec, image = member.new_image): Record<string, string | undefined> => ({
  container: member.container,
  image,
  name: member.name,
  data_dir: member.data_dir,
  client_url: member.client_url,
});
const explicit = (member: MemberSpec, { next }: Placement): ShellScript =>
  sh`${fillWords(member.new_command ?? [], wordsFor(member, next.image))} >/dev/null`;
const longestStopSeconds = 86_400;
/**
 * The `stop` command of the tool kills the process after a timeout. This script only requests the stop and
 * waits, and the operator decides about a kill.
 */
const dockerStop = (tool: ShellScript, { container }: MemberSpec, graceMs: number): ShellScript => {
  const seconds = Math.ceil(graceMs / 1000);
  return sh`[ "$(${tool} inspect -f '{{.State.Running}}' ${container} 2>/dev/null)" = true ] || exit 0
${tool} kill --signal="$(${tool} inspect -f '{{.Config.StopSignal}}' ${container} | sed 's/^$/SIGTERM/')" ${container} >/dev/null || exit 3
i=0; while [ "$(${tool} inspect -f '{{.State.Running}}' ${container} 2>/dev/null)" = true ]; do i=$((i+1)); [ $i -gt ${seconds * 10} ] && exit 1; sleep 0.1; done
exit 0`;
};
/**
 * podman starts a container with a restart policy again after `podman kill`, but not after `podman stop`. Its
 * client kills the process after the time, so this script ends the client before.
 */
const podmanStop = (tool: ShellScript, { container }: MemberSpec, graceMs: number): ShellScript =>
  sh`case "$(${tool} inspect -f '{{.State.Status}}' ${container} 2>/dev/null)" in running*|paused*|stopping*) ;; *) exit 0;; esac
timeout ${Math.max(1, Math.ceil(graceMs / 1000))} ${tool} stop --time ${longestStopSeconds} ${container} >/dev/null
c=$?; [ $c -eq 0 ] && exit 0; [ $c -eq 124 ] && exit 1; exit 3`;
const startScript = (
  tool: ShellScript,
  member: MemberSpec,
  which: Which,
  placement: Placement | undefined,
): Script => {
  if (which === 'old') return sh`${tool} start ${member.container} >/dev/null`;
  if (placement === undefined) return sh`echo "no record of the previous container" >&2; exit 3`;
  const made =
    member.new_command === undefined
      ? (ask: ScriptRunner): Promise<ShellScript> => likeBefore(tool, member, placement, ask)
      : async (): Promise<ShellScript> => explicit(member, placement);
  return async (ask) => sh`at=$(${tool} inspect -f '{{.Id}}' ${member.container} 2>/dev/null) || at=
if [ -n "$at" ]; then ${tool} start "$at" >/dev/null; exit; fi
${await made(ask)}`;
};
/**
 * The same commands in the same order as the scripts. Brackets mark values that only the container contains.
 */
const describe = (tool: ShellScript, kind: StepKind, member: MemberSpec): string[] => {
  const { container } = member;
  const words = container === undefined ? [] : [container];
  if (kind === 'stop' && String(tool) === 'podman')
    return [String(sh`${tool} stop --time ${longestStopSeconds} ${words}`)];
  if (kind === 'stop') return [String(sh`${tool} kill --signal=[its stop signal] ${words}`)];
  if (kind !== 'start') return [];
  const run =
    member.new_command === undefined
      ? String(sh`${tool} run -d --name ${words} [the same arguments] ${[member.new_image ?? '']}`)
      : shellLine(fillWords(member.new_command, wordsFor(member)));
  return [
    String(sh`${tool} update --restart=no ${words} || true`),
    String(sh`${tool} rename ${words} ${words}-[version]-[run]`),
    run,
  ];
};
/**
 * The old container is kept under another name. After a boot, podman would start it next to the new one, on
 * the same data, if its policy is `always` and cannot be changed.
 */
const policyProblems = async (
  tool: ShellScript,
  { container }: MemberSpec,
  inspected: string,
  ask: ScriptRunner,
): Promise<readonly string[]> => {
  if (inspected.trim() === '') return [];
  const policy = parseInspect(inspected, `container ${container}`).HostConfig?.['RestartPolicy'];
  if ((policy as { readonly Name?: unknown } | undefined)?.Name !== 'always') return [];
  const able = await ask(sh`${tool} update --help 2>/dev/null | grep -e --restart || true`);
  return able.trim() === ''
    ? [
        'its container has the restart policy always, which this version of podman cannot change: after a boot, podman would start the old container next to the new one; create the container again with --restart unless-stopped, or install a podman whose podman update has the flag --restart',
      ]
    : [];
};
/**
 * Settings of the container that a new container would lose. Empty if a command of the operator creates the
 * new container.
 */
const settingsProblems = async (
  name: 'docker' | 'podman',
  tool: ShellScript,
  member: MemberSpec,
  ask: ScriptRunner,
): Promise<readonly string[]> => {
  if (member.new_command === undefined && member.new_image === undefined) return [];
  const own = await ask(sh`${tool} inspect ${member.container} 2>/dev/null || true`);
  const returning = name === 'podman' ? await policyProblems(tool, member, own, ask) : [];
  if (member.new_command !== undefined) return returning;
  const image = await ask(
    sh`i=$(${tool} inspect -f '{{.Image}}' ${member.container} 2>/dev/null) && ${tool} image inspect "$i" 2>/dev/null || true`,
  );
  if (own.trim() === '' || image.trim() === '') return returning;
  return [
    ...returning,
    ...lostSettings(
      parseInspect(own, `container ${member.container}`),
      parseInspect(image, `the image of container ${member.container}`),
      name,
    ),
  ];
};
/** Supports docker, and podman, which accepts the same commands. */
export const containerService =
  (name: 'docker' | 'podman', tool = name === 'docker' ? sh`docker` : sh`podman`): MakeService =>
  () => ({
    look: (member) => look(tool, member),
    pid: ({ container }) => sh`${tool} inspect -f '{{.State.Pid}}' ${container}`,
    definition: ({ container }) =>
      sh`${tool} inspect -f '{{json .Config.Entrypoint}} {{json .Config.Cmd}} {{json .Config.Env}}' ${container}`,
    definitionFile: ({ container }) => sh`${tool} cp -L ${container}:"$c" - | tar -xO`,
    problems: (member, ask) => settingsProblems(name, tool, member, ask),
    stateFrom: (done, { container }) => {
      if (done.code !== 0) return { state: 'unknown', reason: lastLine(done) };
      const line = valuesIn(done.stdout).get('state') ?? '';
      return line.trim() === ''
        ? { state: 'gone', reason: `container not found: ${container}` }
        : containerState(line, container);
    },
    stop: (member, graceMs) =>
      name === 'podman' ? podmanStop(tool, member, graceMs) : dockerStop(tool, member, graceMs),
    kill: ({ container }) =>
      name === 'podman'
        ? sh`${tool} stop --time 0 ${container} >/dev/null`
        : sh`${tool} kill ${container} >/dev/null`,
    stage: (member, move) => stage(tool, member, move),
    activate: (member, which, placement) => {
      if (placement?.previous.container_id === undefined) return sh`true`;
      return which === 'new' ? activateNew(tool, member, placement) : activateOld(tool, member, placement);
    },
    start: (member, which, placement) => startScript(tool, member, which, placement),
    logTail: ({ container }, lines) => sh`${tool} logs --tail ${lines} ${container} 2>&1`,
    version: (member, which) =>
      which === 'new'
        ? member.new_image === undefined
          ? undefined
          : sh`${tool} run --rm --network=none --entrypoint ${member.new_binary ?? 'etcd'} ${member.new_image} --version`
        : sh`${tool} run --rm --network=none --entrypoint ${member.old_binary ?? 'etcd'} "$(${tool} inspect -f '{{.Image}}' ${member.container})" --version`,
    describe: (kind, member) => describe(tool, kind, member),
  });

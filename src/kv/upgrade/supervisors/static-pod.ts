import { sh, type ShellScript } from '../../../core/shell.ts';
import type { Finished } from '../../../platform/host.ts';
import type { MemberSpec, Move } from '../../engine/model.ts';
import {
  versionScript,
  fileFunctions,
  lastLine,
  type MakeService,
  type ProcessState,
  type ScriptRunner,
  valuesIn,
  waitFor,
  waitForKilled,
} from './driver.ts';

/** One container of the member's pod in the output of `crictl ps -a -o json`. */
type Container = {
  readonly state: string;
  readonly pod: string;
  readonly createdMs: number;
  readonly attempt: number;
};
type Told = (container: Container) => ProcessState;
const tellEnded: Told = ({ attempt }) => ({
  state: 'gone',
  // A container that exits at its start will exit again, and a revert restores the old version.
  reason: `its container has exited${attempt > 0 ? ` (attempt ${attempt + 1})` : ''}; crictl logs shows the cause`,
});
/** The meaning of each state in the runtime's interface if no process of the member was found. */
const states: Readonly<Record<string, Told>> = {
  CONTAINER_CREATED: () => ({
    state: 'starting',
    awaits: 'its container, which is created and not started yet',
  }),
  CONTAINER_RUNNING: () => ({ state: 'starting', awaits: 'the process in its container, which runs' }),
  CONTAINER_EXITED: tellEnded,
  CONTAINER_UNKNOWN: () => ({ state: 'unknown', reason: 'crictl does not know the state of its container' }),
};
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const containerFrom = (row: unknown): Container | undefined => {
  if (!isRecord(row) || typeof row['state'] !== 'string') return undefined;
  const attempt = isRecord(row['metadata']) ? Number(row['metadata']['attempt'] ?? 0) : 0;
  const pod = isRecord(row['labels']) ? String(row['labels']['io.kubernetes.pod.name'] ?? '') : '';
  // Nanoseconds since 1970 as text.
  return { state: row['state'], pod, createdMs: Number(row['createdAt'] ?? 0) / 1e6, attempt };
};
const containersIn = (text: string): Container[] => {
  try {
    const answer: unknown = JSON.parse(text);
    const rows = isRecord(answer) ? answer['containers'] : undefined;
    return Array.isArray(rows) ? rows.flatMap((row) => containerFrom(row) ?? []) : [];
  } catch {
    return [];
  }
};
/**
 * The name in the manifest, to which the kubelet adds the name of its node, and the time when the manifest
 * was moved to its path.
 */
type Pod = { readonly name: string; readonly sinceMs: number };
/**
 * Returns the state of the newest container of the pod that was created after its manifest was moved to its
 * path: an older container runs the previous version. Undefined if no container exists yet, or if the
 * containers of the member cannot be identified. Pure.
 */
export const crictlState = (text: string, { name, sinceMs }: Pod): ProcessState | undefined => {
  if (name === '') return undefined;
  const newest = containersIn(text)
    .filter(({ pod, createdMs }) => pod.startsWith(`${name}-`) && createdMs >= sinceMs)
    .toSorted((a, b) => b.createdMs - a.createdMs)[0];
  return newest === undefined ? undefined : states[newest.state]?.(newest);
};

/**
 * A path outside of the directory that the kubelet watches: the kubelet would start every manifest in that
 * directory.
 */
const aside = ({ manifest }: MemberSpec, ending: string): ShellScript =>
  sh`"$(dirname "$(dirname ${manifest})")/$(basename ${manifest})"${`.${ending}`}`;
const parkScript = (member: MemberSpec): ShellScript => aside(member, 'opsctl-parked');
/**
 * Processes whose arguments name exactly this data directory: a longer path or a program that only mentions
 * the path does not match.
 */
const pidsOf = ({ data_dir, client_url }: MemberSpec): ShellScript =>
  sh`for f in /proc/[0-9]*/cmdline; do tr '\\0' '\\n' < "$f" 2>/dev/null | { IFS= read -r program; case "\${program##*/}" in etcd*) ;; *) exit 1;; esac
w=; while IFS= read -r a; do case "$a" in ${data_dir === undefined ? sh`*${client_url}*` : sh`--data-dir=${data_dir}|-data-dir=${data_dir}`}) exit 0;; esac
case "$w" in --data-dir|-data-dir) [ "$a" = ${data_dir} ] && exit 0;; esac; w=$a; done; exit 1; } && { f=\${f#/proc/}; echo "\${f%/cmdline}"; }; done`;
const hasProcess = (member: MemberSpec): ShellScript => sh`[ -n "$(${pidsOf(member)})" ]`;
const stage = (member: MemberSpec, { from, to, run }: Move): ShellScript => {
  const kept = aside(member, `opsctl-${from}-${run}`);
  const next = aside(member, `opsctl-${to}-${run}`);
  return sh`set -e
${fileFunctions}
source=${member.manifest}; [ -e "$source" ] || source=${parkScript(member)}
if command -v crictl >/dev/null 2>&1; then crictl pull ${member.new_image} >&2; fi
put "$source" ${kept}
FROM=${member.old_image} TO=${member.new_image} awk '{ at = index($0, ENVIRON["FROM"]); if (/image:/ && at > 0) { $0 = substr($0, 1, at - 1) ENVIRON["TO"] substr($0, at + length(ENVIRON["FROM"])); n++ } print } END { exit n == 1 ? 0 : 7 }' "$source" > ${next}.incoming || { rm -f ${next}.incoming; echo "the manifest does not name the image ${member.old_image} exactly once" >&2; exit 7; }
mv -f ${next}.incoming ${next}
echo previous.manifest=${kept}; echo next.manifest=${next}
printf 'previous.image=%s\\nnext.image=%s\\n' ${member.old_image} ${member.new_image}`;
};
const stateFrom = (done: Finished): ProcessState => {
  if (done.code !== 0) return { state: 'unknown', reason: lastLine(done) };
  const seen = valuesIn(done.stdout);
  const pid = Number(seen.get('pid'));
  if (pid > 1) return { state: 'running', pid };
  if (seen.get('manifest') !== 'true')
    return { state: 'gone', reason: 'its manifest is missing in the directory of the kubelet' };
  const pod = { name: seen.get('pod') ?? '', sinceMs: Number(seen.get('since') || Number.NaN) * 1000 };
  // A kubelet checks every 20 s and pulls the image. Until a container exists, only the time limit of the
  // health check ends the wait.
  return (
    crictlState(seen.get('containers') ?? '', pod) ?? {
      state: 'starting',
      awaits: 'the kubelet, which has the manifest',
    }
  );
};
/**
 * Prints one field of the metadata in a YAML manifest. Labels and annotations are nested deeper, and may have a key with
 * the same name.
 */
const metadataScript = (manifest: ShellScript, field: 'name' | 'namespace'): ShellScript =>
  sh`awk -v field=${`${field}:`} '/^ *#/ { next } /^metadata:/ { m = 1; next } m && /^[^ ]/ { exit } m { match($0, /^ */); if (d == "") d = RLENGTH; if (RLENGTH == d && $1 == field) { gsub(/["\\047]/, "", $2); print $2; exit } }' ${manifest} 2>/dev/null`;
/**
 * Prints the other manifests of the same pod. The kubelet reads each file in its directory whose name does not start with a
 * dot, including a backup. It would start the backup while the member is stopped, or instead of the new version
 * (kubernetes/kubernetes#129364).
 */
const otherManifestsScript = ({ manifest }: MemberSpec): ShellScript => sh`[ -e ${manifest} ] || exit 0
pod_of() { echo "$(${metadataScript(sh`"$1"`, 'namespace')})/$(${metadataScript(sh`"$1"`, 'name')})"; }
own=$(pod_of ${manifest}); name="\${own#*/}"
[ -n "$name" ] || { echo 'cannot read the name of the pod in '${manifest}', so opsctl could not check whether another file defines the same pod: write metadata and name on separate lines'; exit 0; }
for other in "$(dirname ${manifest})"/*; do
[ -f "$other" ] && [ "\${other##*/}" != "$(basename ${manifest})" ] || continue
if ! [ -r "$other" ]; then echo "cannot read $other, which may define the pod $name too: move it to another directory"
elif [ "$(pod_of "$other")" = "$own" ]; then echo "$other also defines the pod $name, and the kubelet may start it instead of "${manifest}': move it to another directory'; fi
done`;
const findOtherManifests = async (member: MemberSpec, ask: ScriptRunner): Promise<readonly string[]> =>
  (await ask(otherManifestsScript(member))).split('\n').filter((line) => line !== '');
/**
 * The pod's name, the time when its manifest was moved to its path, and the state of the runtime; empty
 * without crictl.
 */
const askRuntime = ({ manifest }: MemberSpec): ShellScript => sh`if command -v crictl >/dev/null 2>&1; then
echo "pod=$(${metadataScript(sh`${manifest}`, 'name')})"
echo "since=$(stat -c %Z ${manifest} 2>/dev/null)"
echo "containers=$(crictl ps -a -o json 2>/dev/null | tr -d '\\n')"
fi`;
export const staticPodService: MakeService = () => ({
  look: (member) => sh`m=${member.manifest}
pids=$(${pidsOf(member)})
[ -z "$pids" ] || echo "pid=$(echo $pids | cut -d' ' -f1)"
[ -e "$m" ] && echo manifest=true || echo manifest=false
[ -n "$pids" ] || { ${askRuntime(member)}
}
exit 0`,
  pid: (member) => pidsOf(member),
  stateFrom,
  stop: (member, graceMs) => sh`set -e
if [ -e ${member.manifest} ]; then mv -f ${member.manifest} ${parkScript(member)}; fi
set +e
${waitFor(sh`! ${hasProcess(member)}`, graceMs)}`,
  kill: (member) => sh`for pid in $(${pidsOf(member)}); do kill -KILL "$pid"; done
${waitForKilled(sh`! ${hasProcess(member)}`)}`,
  stage,
  activate: () => sh`true`,
  discard: (_, { next }) => (next.manifest === undefined ? sh`true` : sh`rm -f ${next.manifest}`),
  start: (member, which, placement) => {
    const source = (which === 'new' ? placement?.next : placement?.previous)?.manifest;
    // Copied next to the watched directory and then renamed, so that the kubelet never reads a partial file.
    return sh`set -e
${fileFunctions}
source=${source === undefined ? parkScript(member) : sh`${source}`}
put "$source" ${parkScript(member)}
mv -f ${parkScript(member)} ${member.manifest}`;
  },
  problems: findOtherManifests,
  logTail: (member, lines) =>
    member.log_file === undefined ? sh`true` : sh`tail -n ${lines} ${member.log_file}`,
  version: (member, which) =>
    versionScript(member[`${which}_binary`]) ??
    sh`printf '%s\\n' ${member[`${which}_image`]} | sed 's/@.*//; s/.*:v*//'`,
  describe: (kind, member, which) => {
    if (kind === 'stop') return [String(sh`mv -f ${member.manifest} ${parkScript(member)}`)];
    return kind === 'start' ? [`write ${member.manifest} with image ${member[`${which}_image`]}`] : [];
  },
});

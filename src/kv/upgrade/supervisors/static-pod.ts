import { basename } from 'node:path';
import { sh, type ShellScript } from '../../../core/shell.ts';
import { parseDocument } from '../../../platform/yaml.ts';
import type { Finished } from '../../../platform/host.ts';
import type { MemberSpec, Move } from '../../engine/model.ts';
import {
  versionScript,
  fileFunctions,
  lastLine,
  type MakeService,
  type ProcessState,
  type ScriptRunner,
  type Service,
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
 * The programs that have the database of this member open, or whose arguments name exactly its data directory: a longer
 * path or a program that only mentions the path does not match. The directory may come from a variable or a file, and
 * the pod may have it at another path. A program with the database of another member open is not this member, even if
 * both pods use the same path. While a server starts or ends, it has no database open. A program of a backup reads the
 * database too, and is not a server.
 */
const pidsOf = ({ data_dir, client_url }: MemberSpec): ShellScript =>
  data_dir === undefined
    ? sh`for f in /proc/[0-9]*/cmdline; do tr '\\0' '\\n' < "$f" 2>/dev/null | { IFS= read -r program; case "\${program##*/}" in etcdctl*|etcdutl*) exit 1;; etcd*) ;; *) exit 1;; esac
while IFS= read -r a; do case "$a" in *${client_url}|*${client_url},*|*${client_url}/*) exit 0;; esac; done; exit 1; } && { f=\${f#/proc/}; echo "\${f%/cmdline}"; }; done`
    : sh`d=${data_dir}; for f in /proc/[0-9]*/cmdline; do p=\${f#/proc/}; p=\${p%/cmdline}
tr '\\0' '\\n' < "$f" 2>/dev/null | { IFS= read -r program; case "\${program##*/}" in etcdctl*|etcdutl*) exit 1;; etcd*) ;; *) exit 1;; esac
for o in "/proc/$p/fd"/*; do [ ! "$o" -ef "$d/member/snap/db" ] || exit 0; done
w=; while IFS= read -r a; do case "$a" in --data-dir="$d"|-data-dir="$d") break;; esac
case "$w" in --data-dir|-data-dir) [ "$a" != "$d" ] || break;; esac; w=$a; a=; done
[ -n "$a" ] || exit 1; case "$(ls -l "/proc/$p/fd" 2>/dev/null)" in */member/snap/db*) exit 1;; esac; exit 0; } && echo "$p"; done`;
const hasProcess = (member: MemberSpec): ShellScript => sh`[ -n "$(${pidsOf(member)})" ]`;
/**
 * Replaces the whole name of the image in YAML or JSON: a longer tag and a digest belong to another image. Comments stay
 * as they are.
 */
const imageProgram = `BEGIN { from = ENVIRON["FROM"]; to = ENVIRON["TO"] }
{ rest = $0; out = ""; tail = ""
if (match(rest, /(^|[ \\t])#/)) { tail = substr(rest, RSTART); rest = substr(rest, 1, RSTART - 1) }
if (rest ~ /image["\\047]?[ \\t]*:/) while ((at = index(rest, from)) > 0) {
  out = out substr(rest, 1, at - 1); next_at = at + length(from)
  if (substr(out, length(out), 1) !~ /[A-Za-z0-9._-]/ && substr(rest, next_at, 1) !~ /[A-Za-z0-9._@:\\/-]/) { out = out to; n++ } else out = out from
  rest = substr(rest, next_at)
}
print out rest tail }
END { exit n == 1 ? 0 : 7 }`;
const stage = (member: MemberSpec, { from, to, run }: Move): ShellScript => {
  const kept = aside(member, `opsctl-${from}-${run}`);
  const next = aside(member, `opsctl-${to}-${run}`);
  return sh`set -e
${fileFunctions}
source=${member.manifest}; [ -e "$source" ] || source=${parkScript(member)}
if command -v crictl >/dev/null 2>&1; then crictl pull ${member.new_image} >&2; fi
put "$source" ${kept}
FROM=${member.old_image} TO=${member.new_image} awk ${imageProgram} "$source" > ${next}.incoming || { rm -f ${next}.incoming; echo "the manifest does not name the image ${member.old_image} exactly once" >&2; exit 7; }
mv -f ${next}.incoming ${next}
echo previous.manifest=${kept}; echo next.manifest=${next}
printf 'previous.image=%s\\nnext.image=%s\\n' ${member.old_image} ${member.new_image}`;
};
const decode = (text: string): string => Buffer.from(text, 'base64').toString();
type Manifest = { readonly namespace: string; readonly name: string; readonly images: readonly string[] };
/** The pod that a YAML or JSON file defines. The kubelet reads no other kind of object, and has a default namespace. */
const manifestIn = (text: string): Manifest | undefined => {
  const read = (): unknown => {
    try {
      return parseDocument(text).toJS();
    } catch {
      return undefined;
    }
  };
  const pod = read();
  if (!isRecord(pod) || !isRecord(pod['metadata']) || (pod['kind'] ?? 'Pod') !== 'Pod') return undefined;
  const { name, namespace } = pod['metadata'];
  if (typeof name !== 'string' || name === '') return undefined;
  const spec = isRecord(pod['spec']) ? pod['spec'] : {};
  const containers = [spec['containers'], spec['initContainers']].flatMap((list) =>
    Array.isArray(list) ? list.filter(isRecord) : [],
  );
  return {
    name,
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : 'default',
    images: containers.map(({ image }) => String(image)),
  };
};
const stateFrom = (done: Finished): ProcessState => {
  if (done.code !== 0) return { state: 'unknown', reason: lastLine(done) };
  const seen = valuesIn(done.stdout);
  const pid = Number(seen.get('pid'));
  if (pid > 1) return { state: 'running', pid };
  if (seen.get('manifest') !== 'true')
    return { state: 'gone', reason: 'its manifest is missing in the directory of the kubelet' };
  const name = manifestIn(decode(seen.get('pod') ?? ''))?.name ?? '';
  const pod = { name, sinceMs: Number(seen.get('since') || Number.NaN) * 1000 };
  // A kubelet checks every 20 s and pulls the image. Until a container exists, only the time limit of the
  // health check ends the wait.
  return (
    crictlState(seen.get('containers') ?? '', pod) ?? {
      state: 'starting',
      awaits: 'the kubelet, which has the manifest',
    }
  );
};
/** The kubelet reads each file in its directory whose name does not start with a dot, including a backup. */
const manifestsScript = ({ manifest }: MemberSpec): ShellScript => sh`[ -e ${manifest} ] || exit 0
for f in "$(dirname ${manifest})"/*; do
[ -f "$f" ] || continue
printf %s "$f" | base64 | tr -d '\\n'
if [ -r "$f" ]; then printf ' '; head -c 1000000 < "$f" | base64 | tr -d '\\n'; fi
echo
done`;
/** The plan replaces the image in exactly one place. While an upgrade is under way, it may be the new one. */
const imageProblems = ({ manifest, old_image, new_image }: MemberSpec, { images }: Manifest): string[] => {
  const isNamed = (image: string, named: string | undefined): boolean =>
    named !== undefined && (image === named || image.endsWith(`/${named}`));
  const found = images.filter((image) => isNamed(image, old_image) || isNamed(image, new_image));
  if (found.length === 1) return [];
  return found.length === 0
    ? [
        `${manifest} does not name the image ${old_image} but ${images.join(', ') || 'no image'}: correct old_image in the cluster file`,
      ]
    : [
        `${manifest} names the image ${found[0]} ${found.length} times, and opsctl replaces it in one container`,
      ];
};
/**
 * Finds the other manifests of the same pod. The kubelet would start such a file while the member is stopped, or instead
 * of the new version (kubernetes/kubernetes#129364).
 */
const manifestProblems = async (member: MemberSpec, ask: ScriptRunner): Promise<readonly string[]> => {
  const { manifest } = member;
  const files = (await ask(manifestsScript(member))).split('\n').flatMap((line) => {
    const [path = '', content] = line.split(' ');
    return path === ''
      ? []
      : [{ path: decode(path), text: content === undefined ? undefined : decode(content) }];
  });
  if (files.length === 0 || manifest === undefined) return [];
  const isOwn = ({ path }: { readonly path: string }): boolean => basename(path) === basename(manifest);
  const own = manifestIn(files.find(isOwn)?.text ?? '');
  if (own === undefined)
    return [
      `cannot read the name of the pod in ${manifest}, so opsctl could not check whether another file defines the same pod: write a Pod with metadata and name there`,
    ];
  const problems = imageProblems(member, own);
  for (const { path, text } of files.filter((one) => !isOwn(one))) {
    const other = text === undefined ? undefined : manifestIn(text);
    if (text === undefined)
      problems.push(
        `cannot read ${path}, which may define the pod ${own.name} too: move it to another directory`,
      );
    else if (other?.name === own.name && other.namespace === own.namespace)
      problems.push(
        `${path} also defines the pod ${own.name}, and the kubelet may start it instead of ${manifest}: move it to another directory`,
      );
  }
  return problems;
};
/**
 * The manifest in base64, the time when it was moved to its path, and the state of the runtime; empty without
 * crictl.
 */
const askRuntime = ({ manifest }: MemberSpec): ShellScript => sh`if command -v crictl >/dev/null 2>&1; then
echo "pod=$(head -c 1000000 < ${manifest} 2>/dev/null | base64 | tr -d '\\n')"
echo "since=$(stat -c %Z ${manifest} 2>/dev/null)"
echo "containers=$(crictl ps -a -o json 2>/dev/null | tr -d '\\n')"
fi`;
const readDefinition: Pick<Service, 'definition' | 'definitionFile'> = {
  definition: (member) =>
    sh`if [ -e ${member.manifest} ]; then cat ${member.manifest}; else cat ${parkScript(member)}; fi`,
  // A pod has its own paths, and only config_file names the file on the host.
  definitionFile: ({ config_file }) => (config_file === undefined ? sh`false` : sh`cat ${config_file}`),
};
export const staticPodService: MakeService = () => ({
  look: (member) => sh`m=${member.manifest}
pids=$(${pidsOf(member)})
[ -z "$pids" ] || echo "pid=$(echo $pids | cut -d' ' -f1)"
[ -e "$m" ] && echo manifest=true || echo manifest=false
[ -n "$pids" ] || { ${askRuntime(member)}
}
exit 0`,
  pid: (member) => pidsOf(member),
  ...readDefinition,
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
  problems: manifestProblems,
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

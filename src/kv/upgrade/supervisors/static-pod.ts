import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import type { Finished } from '../../../platform/host.ts';
import type { MemberSpec, Move } from '../../engine/types.ts';
import { crictlState } from './crictl-state.ts';
import type { ProcessState } from './driver.ts';
import { askedVersion, fileFunctions, lastLine, valuesIn, waitFor } from './service.ts';
import type { MakeService } from './service.ts';

/** Outside of the directory that the kubelet watches: it would start every manifest that it finds there. */
const aside = ({ manifest }: MemberSpec, ending: string): ShellScript =>
  sh`"$(dirname "$(dirname ${manifest})")/$(basename ${manifest})"${`.${ending}`}`;
const parked = (member: MemberSpec): ShellScript => aside(member, 'opsctl-parked');

/** Processes whose own arguments name exactly this data directory: a longer path, or a program that only mentions it, is none. */
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
source=${member.manifest}; [ -e "$source" ] || source=${parked(member)}
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
    return { state: 'gone', reason: 'its manifest is not in the directory of the kubelet' };
  const pod = { name: seen.get('pod') ?? '', sinceMs: Number(seen.get('since') || Number.NaN) * 1000 };
  // A kubelet looks every 20 s and pulls: until there is a container only the gate's time can say that it will not come.
  return (
    crictlState(seen.get('containers') ?? '', pod) ?? {
      state: 'starting',
      awaits: 'the kubelet, which has the manifest',
    }
  );
};

/** The pod's name, when its manifest came to its place, and what the runtime knows; nothing where there is no crictl. */
const askRuntime = ({ manifest }: MemberSpec): ShellScript => sh`if command -v crictl >/dev/null 2>&1; then
echo "pod=$(awk '/^metadata:/ { m = 1; next } m && /^[^ ]/ { exit } m && /^ +name:/ { print $2; exit }' ${manifest} 2>/dev/null)"
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
if [ -e ${member.manifest} ]; then mv -f ${member.manifest} ${parked(member)}; fi
set +e
${waitFor(sh`! ${hasProcess(member)}`, graceMs)}`,
  kill: (member) => sh`for pid in $(${pidsOf(member)}); do kill -KILL "$pid"; done; true`,
  stage,
  activate: () => sh`true`,
  discard: (_, { next }) => (next.manifest === undefined ? sh`true` : sh`rm -f ${next.manifest}`),
  start: (member, which, placement) => {
    const source = (which === 'new' ? placement?.next : placement?.previous)?.manifest;
    // Copied beside the watched directory and renamed into it: the kubelet never sees half of it.
    return sh`set -e
${fileFunctions}
source=${source === undefined ? parked(member) : sh`${source}`}
put "$source" ${parked(member)}
mv -f ${parked(member)} ${member.manifest}`;
  },
  logTail: (member, lines) =>
    member.log_file === undefined ? sh`true` : sh`tail -n ${lines} ${member.log_file}`,
  version: (member, which) =>
    askedVersion(member[`${which}_binary`]) ??
    sh`printf '%s\\n' ${member[`${which}_image`]} | sed 's/@.*//; s/.*:v*//'`,
  describe: (kind, member, which) => {
    if (kind === 'stop') return [String(sh`mv -f ${member.manifest} ${parked(member)}`)];
    return kind === 'start' ? [`write ${member.manifest} with image ${member[`${which}_image`]}`] : [];
  },
});

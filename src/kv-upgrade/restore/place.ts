import { AppError } from '../../core/problem.ts';
import { sh } from '../../core/shell.ts';
import type { ShellScript } from '../../core/shell.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { versionInText } from '../supervisors/driver.ts';
import { whyFailed } from '../supervisors/service.ts';
import type { Shell } from '../supervisors/shell.ts';
import type { MemberSpec } from '../types.ts';
import type { RestorePlan, RestoreStep } from './plan.ts';

const buildMs = 3_600_000;

/** What is done where a member lives, as shell scripts: here, or over ssh. Nothing of it is done twice. */
export const refuseWrongCtl = async (
  shell: Shell,
  { ctl, to }: { readonly ctl: string; readonly to: Minor },
): Promise<void> => {
  const { stdout, stderr } = await shell.run(sh`ETCDCTL_API=3 ${ctl} version 2>&1`);
  const version = versionInText(`${stdout}\n${stderr}`);
  if (minorOf(version) === to) return;
  const place = shell.where === 'here' ? '' : ` on ${shell.where}`;
  const what = version ?? `of an unknown version (${`${stdout}\n${stderr}`.trim().split('\n')[0] ?? ''})`;
  throw new AppError(
    'unsafe',
    `refused, nothing was changed: the ctl program${place} is ${what}, the directories are for ${to}`,
    {
      code: 'WRONG_CTL',
      tryThis: [`ctl_binary: PATH of the ${to} ctl program`],
    },
  );
};

const isInside = ({ data_dir }: MemberSpec, path: string): boolean =>
  path.startsWith(`${data_dir?.replace(/\/+$/, '')}/`);
/** The ctl program of 3.2 knows no --wal-dir: what it made is taken out of the new directory, on every version. */
const logScript = (member: MemberSpec, wal: string | undefined): ShellScript => {
  if (wal === undefined) return sh``;
  const place = isInside(member, wal)
    ? sh`T="$D.restoring"${wal.slice((member.data_dir as string).replace(/\/+$/, '').length)}`
    : sh`W=${wal}
if mountpoint -q "$W" 2>/dev/null; then echo "$W is a mount point: it cannot be moved aside" >&2; exit 9; fi
T="$W.restoring"; rm -rf "$T" || exit 1`;
  return sh`${place}
if [ "$T" != "$D.restoring/member/wal" ]; then mkdir -p "$(dirname "$T")" && mv "$D.restoring/member/wal" "$T" || exit 1; fi
if [ -d "$D" ] && [ "$(id -u)" = 0 ]; then chown -R "$(stat -c %u:%g "$D")" "$T" || exit 1; fi`;
};

/** The new directory stands beside the present one and belongs to the same user; nothing was stopped yet. */
const buildScript = (
  plan: RestorePlan,
  { words, wal_dir }: RestoreStep,
  member: MemberSpec,
  snapshot: string,
): ShellScript =>
  sh`D=${member.data_dir}
if mountpoint -q "$D" 2>/dev/null; then echo "$D is a mount point: it cannot be moved aside" >&2; exit 9; fi
rm -rf "$D.restoring" || exit 1
ETCDCTL_API=3 ${[plan.ctl, 'snapshot', 'restore', snapshot, ...words]} >&2 || exit 1
${logScript(member, wal_dir)}
[ -d "$D" ] || exit 0
if [ "$(id -u)" = 0 ]; then chown -R "$(stat -c %u:%g "$D")" "$D.restoring" || exit 1; fi
chmod "$(stat -c %a "$D")" "$D.restoring"`;
export const buildDirectory = async (
  shell: Shell,
  plan: RestorePlan,
  step: RestoreStep,
  member: MemberSpec,
): Promise<void> => {
  const sent = await shell.send(plan.snapshot.path, `${member.data_dir}.snapshot`);
  const done = await shell.run(buildScript(plan, step, member, sent.path), { timeoutMs: buildMs });
  await sent.remove();
  if (done.code === 0) return;
  throw new AppError(
    'unsafe',
    `nothing was stopped: the directory of ${step.name} could not be built: ${whyFailed(done)}`,
    { code: 'RESTORE_FAILED' },
  );
};

/** Kept beside its own place, under the ending that the data directory gets. */
const swapLog = (
  wal: string,
  aside: string,
): ShellScript => sh`W=${wal}; B=$W${/\.before-restore-[^/]*$/.exec(aside)?.[0]}; L=$B; m=2
while [ -e "$L" ]; do L=$B.$m; m=$((m+1)); done
if [ -e "$W" ]; then mv "$W" "$L"; fi
mv "$W.restoring" "$W"`;

/** A second rebuild, or one that goes on after a crash, must not cover what the first kept aside. */
const swapScript = ({ aside, wal_dir }: RestoreStep, member: MemberSpec): ShellScript => sh`set -e
D=${member.data_dir}; A=${aside}; K=$A; n=2
while [ -e "$K" ]; do K=$A.$n; n=$((n+1)); done
${wal_dir === undefined || isInside(member, wal_dir) ? sh`` : swapLog(wal_dir, aside)}
if [ -e "$D" ]; then mv "$D" "$K"; fi
mv "$D.restoring" "$D"
printf %s "$K"`;
/** The present directory goes aside, the new one takes its place. Returns where the present one is kept. */
export const swapDirectory = async (shell: Shell, step: RestoreStep, member: MemberSpec): Promise<string> => {
  const done = await shell.run(swapScript(step, member), { timeoutMs: 60_000 });
  if (done.code === 0) return done.stdout;
  throw new AppError(
    'stopped',
    `${step.name}: its data directory could not be changed: ${done.stderr.trim().split('\n').at(-1) ?? ''}`,
    {
      code: 'RESTORE_STOPPED',
      tryThis: [
        'every member is stopped; fix the cause, then run kv restore again: what is kept aside stays',
      ],
    },
  );
};

/** Whether the new directory stands beside the present one. */
export const isBuiltBeside = async (shell: Shell, { data_dir }: MemberSpec): Promise<boolean> =>
  (await shell.run(sh`[ -d ${`${data_dir}.restoring`} ]`)).code === 0;

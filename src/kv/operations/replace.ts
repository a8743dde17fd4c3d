import { after, next } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import { sh, type ShellScript } from '../../core/shell.ts';
import { hexId } from '../client/messages.ts';
import type { ListedMember } from '../client/etcd-client.ts';
import type { MemberSpec, Detail } from '../engine/model.ts';
import { stopGraceMs } from '../upgrade/cluster/cluster-file.ts';
import { watchProgress } from '../upgrade/execute/connection-checks.ts';
import { lagLimits } from '../upgrade/guards/membership.ts';
import { memberOf } from '../upgrade/run.ts';
import { hasProcess, type Shell, failureReason } from '../upgrade/supervisors/driver.ts';
import { placeFunctions } from '../upgrade/supervisors/driver.ts';
import type { OperationStepHandler, OperationStepHandlers, Operation } from './journal.ts';
import {
  add,
  disarmRemoved,
  listedNow,
  memberStep,
  moveLeader,
  passCheck,
  promoteMember,
  refuseLostQuorum,
  removeMember,
  startSettings,
  storeOf,
} from './membership.ts';
import { joiningFile, joiningMember, joinsBy, joinSettings } from './replace-plan.ts';

/**
 * Moves the remaining data next to its directory, or into a directory on the disk if the data directory is a
 * mount point. It deletes no data, because the data may show the cause of a failure. A link to the directory
 * remains, and the new directory is on the same disk. The script can be repeated.
 */
const asideScript = (directory: string, ending: string): ShellScript => sh`${placeFunctions}
N=${directory}; D=$(real "$N"); E=${ending}
if [ ! -e "$D" ]; then exit 0; fi
if [ -z "$(ls -A "$D" 2>/dev/null)" ]; then exit 0; fi
if is_mount "$D"; then
  K="$D/$E"; mkdir -p "$K" || exit 1
  for f in "$D"/* "$D"/.[!.]*; do [ -e "$f" ] || [ -L "$f" ] || continue; case "$f" in "$D"/replaced-*|"$D"/lost+found) ;; *) mv "$f" "$K"/ || exit 1;; esac; done
else
  K=$(unused "$(beside "$N").$E")
  mv "$D" "$K" || exit 1
  mkdir -m 700 "$D" || exit 1
  if [ "$(id -u)" = 0 ]; then chown "$(stat -c %u:%g "$K")" "$D" || exit 1; fi
  chmod "$(stat -c %a "$K")" "$D" || exit 1
fi
printf %s "$K"`;
/** Empties the data directory and a separate log directory. Returns the paths of the kept data. */
const setAside = async (
  shell: Shell,
  { name, data_dir }: MemberSpec,
  walDir: string | undefined,
  run: string,
): Promise<readonly string[]> => {
  const isInside = walDir?.startsWith(`${data_dir?.replace(/\/+$/, '')}/`) === true;
  const kept: string[] = [];
  for (const directory of [data_dir, isInside ? undefined : walDir]) {
    if (directory === undefined) continue;
    const done = await shell.run(asideScript(directory, `replaced-${run}`), { timeoutMs: 60_000 });
    if (done.code !== 0)
      throw new AppError(
        'stopped',
        `${name}: cannot move ${directory} to a backup name: ${failureReason(done)}`,
        {
          code: 'SET_ASIDE',
          tryThis: [after(`empty ${directory} by hand, then`, ['kv', 'replace-member', `${name}`])],
        },
      );
    if (done.stdout !== '') kept.push(done.stdout);
  }
  return kept;
};

/** Returns the member with the new id. It is identified by its unchanged peer URLs. */
const addedMember = async (operation: Operation): Promise<ListedMember> => {
  const { plan } = operation;
  const urls = (plan.values.peer_urls ?? []).toSorted().join();
  const found = (await listedNow(operation)).find(
    ({ peer_urls, id }) => peer_urls.toSorted().join() === urls && id !== plan.values.member_id,
  );
  if (found !== undefined) return found;
  throw new AppError('stopped', `${plan.subject} is no longer in the member list: another user removed it`, {
    code: 'NO_MEMBER',
    tryThis: [next(['kv', 'member', 'list'])],
  });
};
const specOf = ({ checking }: Operation, name: string): MemberSpec => memberOf(checking, name);
/**
 * Returns whether the process exists. Throws if the state is unknown, because the operation must not act on
 * it.
 */
const isThere = async (operation: Operation, name: string): Promise<boolean> => {
  const state = await operation.checking.driver.process(specOf(operation, name));
  const found = hasProcess(state);
  if (found !== undefined) return found;
  throw new AppError(
    'stopped',
    `cannot determine whether ${name} runs: ${(state as { reason: string }).reason}`,
    {
      code: 'PROCESS_UNKNOWN',
      tryThis: [next(['kv', 'check'], 'shows the parts that cannot be reached')],
    },
  );
};
/** Stops the process of a member. Throws if it continues to run. `consequence` is the part of the error that states what was not done. */
const stopProcess = async (operation: Operation, member: MemberSpec, consequence: string): Promise<void> => {
  const { checking, cluster, holdLock } = operation;
  await holdLock();
  const graceMs = stopGraceMs(cluster);
  if (await checking.driver.stop(member, graceMs)) return;
  const { name } = member;
  throw new AppError('stopped', `${name} did not exit within ${graceMs / 1000} s; ${consequence}`, {
    code: 'STOP_IGNORED',
    tryThis: [after('stop it by hand, then', ['kv', 'replace-member', `${name}`])],
  });
};
const stop: OperationStepHandler = async (operation, step) => {
  const name = memberStep(step);
  await refuseLostQuorum(operation, name);
  if (!(await isThere(operation, name))) return { was_running: false };
  await stopProcess(operation, specOf(operation, name), 'it is still a member');
  return { was_running: true };
};
const remove: OperationStepHandler = async (operation, step) => {
  const { member_id: id } = operation.plan.values;
  if (id === undefined) return { was_member: false };
  await refuseLostQuorum(operation, memberStep(step));
  await removeMember(operation, id);
  return { member_id: hexId(id) };
};
/**
 * Stops the process before the move. A process that was started in the meantime would write to the moved
 * data.
 */
const asideWith =
  (shellFor: (member: MemberSpec) => Shell): OperationStepHandler =>
  async (operation, step) => {
    const name = memberStep(step);
    const { plan, say } = operation;
    const member = specOf(operation, name);
    if (await isThere(operation, name)) await stopProcess(operation, member, 'its data was not moved');
    const kept = await setAside(shellFor(member), member, plan.values.wal_dir, plan.id);
    if (kept.length > 0) say(`the old content of its data directory is kept in ${kept.join(', ')}`);
    return { kept };
  };
/**
 * Starts the member with the current member list. The file or command in the cluster file contains the
 * members of its first start.
 */
const startIt = async (operation: Operation, name: string): Promise<void> => {
  const { checking, cluster, plan } = operation;
  const [member, which] = [specOf(operation, name), plan.values.starts ?? 'old'];
  const started = startSettings(await listedNow(operation), await addedMember(operation), name);
  const settings = joinSettings(started['ETCD_INITIAL_CLUSTER'] as string);
  const { driver } = checking;
  if (joinsBy({ cluster, member, observation: plan.observation }, which) !== 'file') {
    await driver.start(joiningMember(member, which, settings), which);
    return;
  }
  const path = member.config_file as string;
  const text = (await driver.readFile(member, path)) ?? '';
  await driver.writeFile(member, path, await joiningFile(text, settings));
  await driver.start(member, which);
};
const start: OperationStepHandler = async (operation, step) => {
  const name = memberStep(step);
  if (await isThere(operation, name)) return { was_running: true };
  await startIt(operation, name);
  return { was_running: false };
};
type Seen = { readonly lag: number } | undefined;
/**
 * Returns how many entries the member is behind. Returns undefined if it does not respond or is not the added
 * member.
 */
const lookAt = async (operation: Operation, name: string, id: string): Promise<Seen> => {
  const own = await storeOf(operation, name)
    .status()
    .catch(() => undefined);
  if (own === undefined || own.member_id !== id || own.leader_id === undefined) return undefined;
  const others = await Promise.all(
    operation.cluster.members
      .filter((member) => member.name !== name)
      .map((member) =>
        storeOf(operation, member.name)
          .status()
          .catch(() => undefined),
      ),
  );
  const furthest = Math.max(0, ...others.map((status) => status?.raft_index ?? 0));
  return { lag: Math.max(0, furthest - (own.applied_index ?? own.raft_index)) };
};
const [pollMs, silenceMs] = [200, 120_000];
const makeProcessEndedError = async (operation: Operation, name: string): Promise<AppError> => {
  const log = await operation.checking.driver.logTail(specOf(operation, name), 3).catch(() => []);
  return new AppError(
    'stopped',
    `the process of ${name} exited while it was catching up${log.length === 0 ? '' : `: ${log.join(' | ')}`}`,
    { code: 'MEMBER_ENDED', tryThis: [`read the log of ${name}`] },
  );
};
const notCaughtUp = (name: string, seen: Seen): AppError =>
  new AppError(
    'stopped',
    `${name} has not caught up: ${seen === undefined ? 'it does not respond' : `it is ${seen.lag} entries behind`}`,
    { code: 'NOT_CAUGHT_UP', tryThis: [`read the log of ${name}`] },
  );
/**
 * Waits as long as the member makes progress. A large database takes a long time, but a member without
 * progress times out.
 */
const catchUp: OperationStepHandler = async (operation, step): Promise<Detail> => {
  const { host, checking, signal } = operation;
  const name = memberStep(step);
  const { id } = await addedMember(operation);
  // The member was started before a crash and has exited since.
  if (!(await isThere(operation, name))) await startIt(operation, name);
  const progress = watchProgress(checking, name);
  const began = host.elapsed();
  let [best, movedAt] = [Number.POSITIVE_INFINITY, began];
  for (;;) {
    const seen = await lookAt(operation, name, id);
    const lag = seen?.lag ?? Number.POSITIVE_INFINITY;
    if (lag <= lagLimits.warn)
      return { member_id: hexId(id), took_ms: Math.round(host.elapsed() - began), entries_behind: lag };
    if (seen === undefined && !(await isThere(operation, name)))
      throw await makeProcessEndedError(operation, name);
    await progress.look();
    if (lag < best || progress.isMoving()) movedAt = host.elapsed();
    best = Math.min(best, lag);
    if (host.elapsed() - movedAt > silenceMs || signal.aborted) throw notCaughtUp(name, seen);
    await host.sleep(pollMs);
  }
};
const promoteWithinMs = 300_000;
const promote: OperationStepHandler = async (operation) => {
  const { id } = await addedMember(operation);
  await promoteMember(operation, id, promoteWithinMs);
  return { member_id: hexId(id) };
};
/** Replaces the member id for the check, because the member has a new id. */
const checkNew: OperationStepHandler = async (operation, step) => {
  const name = memberStep(step);
  const { id } = await addedMember(operation);
  const { plan } = operation.checking;
  const members = plan.observation.members.map((member) =>
    member.name === name ? { ...member, member_id: id } : member,
  );
  const checking = {
    ...operation.checking,
    plan: { ...plan, observation: { ...plan.observation, members } },
  };
  await passCheck({ ...operation, checking }, name);
  return undefined;
};
export const replaceActs = (shellFor: (member: MemberSpec) => Shell): OperationStepHandlers => ({
  'move-leader': moveLeader,
  stop,
  remove,
  disarm: disarmRemoved,
  'set-aside': asideWith(shellFor),
  add,
  start,
  'catch-up': catchUp,
  promote,
  check: checkNew,
});

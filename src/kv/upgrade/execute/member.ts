import { AppError } from '../../../core/problem.ts';
import { stopGraceMs } from '../cluster/stop-grace.ts';
import { hexId } from '../../client/hex-id.ts';
import { memberRoomProblem } from '../guards/disk-space.ts';
import { recordPlacement } from '../placement.ts';
import { identityOf, memberOf } from '../run.ts';
import type { Act, Run } from '../run.ts';
import type { ClusterFile, HostFacts, MemberSeen, MemberSpec, Placement, Step } from '../../engine/types.ts';
import { recordAccess } from './connection-checks.ts';
import { runHook } from './hook.ts';
import { justAfterWrite } from './move-leader.ts';
import { hostOf, wrongBinary } from './new-binary.ts';
import { safeToStop } from './safe-to-stop.ts';

/** Another cluster's member behind the same URL is never stopped; one that was removed and added since the plan is, and is known by its new id from now on. */
const noteIdentity = (run: Run, step: Step, { name, member_id, cluster_id }: MemberSeen): void => {
  const before = identityOf(run, name);
  if (before.cluster_id !== undefined && cluster_id !== undefined && cluster_id !== before.cluster_id)
    throw new AppError(
      'stopped',
      `${name} is in cluster ${hexId(cluster_id)} now, was in ${hexId(before.cluster_id)}: it was not stopped`,
      {
        code: 'OTHER_CLUSTER',
        tryThis: ['opsctl kv member list', 'check client_url in the cluster file'],
      },
    );
  if (member_id === undefined || before.member_id === undefined || member_id === before.member_id) return;
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${name} is member ${hexId(member_id)} now, was ${hexId(before.member_id)} when this was planned`,
  });
  run.journal.write({ kind: 'begin', step: step.id, note: { member_id } });
};

/** Everything that may still say no, and then the record: after the stop it is the only thing that says what the member ran with. */
const lastLook = async (run: Run, step: Step, placement: Placement): Promise<MemberSeen> => {
  const [lock, look] = await Promise.allSettled([run.holdLock(), safeToStop(run, placement.member)]);
  // The lock counts first: whoever lost it says that, and not what was seen of a cluster that another run works on.
  if (lock.status === 'rejected') throw lock.reason;
  if (look.status === 'rejected') throw look.reason;
  const seen = look.value;
  noteIdentity(run, step, seen);
  await recordPlacement(run, placement);
  return seen;
};

const refuseFullDisk = ({ plan }: Run, name: string, facts: HostFacts): void => {
  const room = memberRoomProblem(name, facts, plan.options);
  if (room !== undefined)
    throw new AppError('stopped', `${room} on the disk of its data directory; it was not stopped`, {
      code: 'DISK',
      tryThis: ['make room there'],
    });
};

const stopIgnored = ({ name }: MemberSpec, cluster: ClusterFile): AppError =>
  new AppError(
    'stopped',
    `${name} did not end within ${stopGraceMs(cluster) / 1000} s after it was asked to; it was not killed`,
    {
      code: 'STOP_IGNORED',
      tryThis: [
        'read its log',
        'end it by hand, then opsctl kv resume',
        'opsctl kv resume --kill-after-grace',
      ],
    },
  );

export const stopMember: Act = async (run, step) => {
  const { host, driver, cluster } = run;
  const member = memberOf(run, step.member as string);
  const facts = await hostOf(run, member.name, run.plan.options.copy_data);
  wrongBinary(run, member.name, facts);
  refuseFullDisk(run, member.name, facts);
  await runHook(run, 'before_member', member.name);
  await recordAccess(run, step);
  // Beside what runs: when anything below says no, the member and whatever a crash would start are as before.
  const placement = await driver.stage(member, { from: run.plan.from, to: run.plan.to, run: run.id });
  const seen = await lastLook(run, step, placement).catch(async (error: unknown) => {
    await driver.discard(member, placement).catch(() => {});
    throw error;
  });
  await run.shareProgress();
  if (seen.is_leader && cluster.members.length > 1) await justAfterWrite(run, member);
  const began = host.elapsed();
  run.downSince.set(member.name, began);
  run.members.remove(member.name);
  run.emit({ event: 'member-down', member: member.name, was_leader: seen.is_leader });
  if (await driver.stop(member, stopGraceMs(cluster))) return { took_ms: Math.round(host.elapsed() - began) };
  if (!run.canKill) throw stopIgnored(member, cluster);
  await driver.kill(member);
  return { took_ms: Math.round(host.elapsed() - began), killed: true };
};

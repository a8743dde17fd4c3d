import type { Context } from '../../cli/command.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { MemberSpec } from '../../kv/engine/types.ts';
import type { Opened } from './open-cluster.ts';

/** From one member, never from "one of them": the named one, else the leader, because nobody is ahead of it. */
export const snapshotMember = async (
  { host, log }: Context,
  { cluster, access, file }: Opened,
  member: string | undefined,
): Promise<MemberSpec> => {
  if (member !== undefined) {
    const found = cluster.members.find(({ name }) => name === member);
    if (found === undefined)
      throw invalidArguments([
        problem('--member', 'enum', `must be one of ${cluster.members.map(({ name }) => name).join(', ')}`),
      ]);
    return found;
  }
  if (cluster.members.length === 1) return cluster.members[0] as MemberSpec;
  if (file === undefined)
    throw invalidArguments([
      problem(
        '--endpoints',
        'max',
        'must name one member: a snapshot is taken from one',
        'or name a --member of a cluster file',
      ),
    ]);
  const [{ observe }, { mostCurrent }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/observe/snapshot-source.ts'),
  ]);
  const { members } = await observe({ host, cluster, access });
  const best = mostCurrent(members);
  if (best === undefined)
    throw new AppError('network', `no member answers: ${members[0]?.error ?? 'unknown'}`, {
      code: 'UNAVAILABLE',
      tryThis: ['opsctl kv status'],
    });
  if (!best.is_leader) log.warn(`no leader: the snapshot of ${best.name} may be behind`);
  return cluster.members.find(({ name }) => name === best.name) as MemberSpec;
};

import { next } from '../../../core/next.ts';
import { guard } from './guard.ts';

/**
 * After the last member, only a restore leads to the old version, and a missing precondition cannot be
 * repaired quickly. So it is reported before the point of no return (spec/store#versions-6).
 */
export const restorePossible = guard(
  'restore-possible',
  'kv restore can rebuild every member',
  ({ observation, cluster, from }, log) => {
    if (cluster.ctl_binary === undefined)
      return log.warn({
        message: `after the last member only kv restore can return the cluster to ${from}, and the cluster file has no ctl_binary`,
        hint: `add ctl_binary: PATH of etcdctl or etcdutl of ${from}, on the host of every member`,
      });
    for (const { name, host } of observation.members)
      if (host?.restore_check?.problem !== undefined)
        log.warn({
          member: name,
          message: `${name}: after the last member kv restore could not return the cluster to ${from}: ${host.restore_check.problem}`,
          hint: next(
            ['kv', 'restore', '--dry-run'],
            'shows the steps of a restore; with --hold-last a rollback stays possible',
          ),
        });
  },
  ({ host }) => host?.restore_check !== undefined,
  {
    found: ({ cluster, from }) =>
      `kv restore can rebuild every member on ${from} with ${cluster.ctl_binary ?? ''}`,
    skips: ({ kind = 'upgrade', isUnderWay }) =>
      kind !== 'upgrade'
        ? `a ${kind} has no point of no return`
        : isUnderWay === true
          ? 'checked before the run started, and again at the point of no return'
          : undefined,
  },
);

import { minorOf } from '../../api-specs/etcd/versions.ts';
import type { Progress } from '../engine/progress.ts';
import type {
  ClusterFile,
  Hooks,
  MemberSeen,
  MemberSpec,
  Plan,
  PlanKind,
  PlanOptions,
} from '../engine/types.ts';

type Kinded = Pick<Plan, 'kind'>;
/** Plans of earlier versions have no kind: they are upgrades. */
export const kindOf = ({ kind }: Kinded): PlanKind => kind ?? 'upgrade';

/** Only an upgrade passes a point of no return: spec/store#measured-later-9, and a restart changes no version of the cluster. */
export const crosses = (plan: Kinded): boolean => kindOf(plan) === 'upgrade';

/**
 * Whether a member that answers runs what the plan leads to. Versions say it, but for a restart, which keeps the minor: there a start was begun,
 * and a member that is stopped before its start is begun does not answer.
 */
export const isSwitched = (
  plan: Pick<Plan, 'kind' | 'to' | 'order'>,
  { begun }: Pick<Progress, 'begun'>,
  { name, server_version }: Pick<MemberSeen, 'name' | 'server_version'>,
): boolean =>
  kindOf(plan) === 'restart'
    ? !plan.order.includes(name) || begun.has(`${name}.start`)
    : minorOf(server_version) === plan.to;

/** For people: what a member has before and after. */
export const oldWay = (plan: Kinded & Pick<Plan, 'from'>): string =>
  kindOf(plan) === 'restart' ? 'its configuration before' : plan.from;
export const newWay = (plan: Kinded & Pick<Plan, 'to'>): string =>
  kindOf(plan) === 'restart' ? 'its new configuration' : plan.to;

const pairs = [
  ['old_binary', 'new_binary'],
  ['old_command', 'new_command'],
  ['old_image', 'new_image'],
] as const;
const hookPairs = [
  ['start_old', 'start_new'],
  ['old_version', 'new_version'],
] as const;

const swapped = (spec: MemberSpec): MemberSpec => {
  const changes = pairs.flatMap(([old, fresh]) => [
    [old, spec[fresh]],
    [fresh, spec[old]],
  ]);
  return { ...spec, ...Object.fromEntries(changes) };
};
const swappedHooks = (hooks: Hooks): Hooks => ({
  ...hooks,
  ...Object.fromEntries(
    hookPairs.flatMap(([old, fresh]) => [
      [old, hooks[fresh]],
      [fresh, hooks[old]],
    ]),
  ),
});
const kept = (spec: MemberSpec, which: 'old' | 'new'): MemberSpec => ({
  ...spec,
  ...Object.fromEntries(
    pairs.flatMap(([old, fresh]) => {
      const runs = spec[which === 'old' ? old : fresh];
      return [
        [old, runs],
        [fresh, runs],
      ];
    }),
  ),
});

/** The cluster file as this kind of plan reads it: a downgrade goes from its new programs to its old ones. */
export const viewFor = (
  cluster: ClusterFile,
  plan: { readonly kind?: PlanKind | undefined; readonly options: Pick<PlanOptions, 'keep_program'> },
): ClusterFile => {
  const { to: _, ...rest } = cluster;
  if (plan.kind === 'downgrade')
    return {
      ...rest,
      members: cluster.members.map(swapped),
      ...(cluster.hooks === undefined ? {} : { hooks: swappedHooks(cluster.hooks) }),
    };
  if (plan.kind === 'restart') {
    const { keep_program: which } = plan.options;
    const members = which === undefined ? cluster.members : cluster.members.map((spec) => kept(spec, which));
    return { ...rest, members };
  }
  return cluster;
};

/** A restart may leave the program to the service manager. */
export const namesProgram = ({ new_binary, new_command, new_image }: MemberSpec): boolean =>
  new_binary !== undefined || new_command !== undefined || new_image !== undefined;

import type { Context } from '../../cli/command.ts';
import type { ListedMember } from '../../kv/client/etcd-client.ts';
import { memberNamed } from '../../kv/client/member-named.ts';
import { askAny } from './ask.ts';
import type { EndpointValues } from './flags.ts';
import { type Opened, openCluster } from './open-cluster.ts';
import { type Asked, operated } from './operated.ts';

/** The member that is meant, and what is done with it. */
export const changeMember = async (
  context: Context,
  values: EndpointValues & { readonly member: string },
  asked: (member: ListedMember, opened: Opened) => Asked,
) => {
  const opened = await openCluster(context, values);
  const members = await askAny(context, opened, (store) => store.members());
  return operated(context, opened, asked(memberNamed(members, values.member), opened));
};

export const membershipActs: Asked['acts'] = async () =>
  (await import('../../kv/operations/membership.ts')).membershipActs;

export const membershipPlans = () => import('../../kv/operations/membership-plan.ts');

import { defineCommand } from '../../cli/command.ts';
import { changeMember, membershipActs } from './change-member.ts';
import { endpointFlags } from './flags.ts';
import { memberArgument } from './member-flags.ts';

export const memberRemove = defineCommand({
  path: ['kv', 'member', 'remove'],
  summary: 'Remove a member for good, when the others keep a majority',
  args: [memberArgument],
  flags: endpointFlags,
  run: (context, values) =>
    changeMember(context, values, (member, { cluster }) => ({
      operation: 'member-remove',
      plan: async (observation, id) =>
        (await import('../../kv/operations/remove-plan.ts')).removePlan({ id, observation, cluster }, member),
      acts: membershipActs,
      question: `Remove ${values.member} from ${cluster.name} for good?`,
    })),
});

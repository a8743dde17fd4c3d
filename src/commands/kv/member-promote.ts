import { defineCommand } from '../../cli/command.ts';
import { changeMember, membershipActs, membershipPlans } from './change-member.ts';
import { endpointFlags } from './flags.ts';
import { memberArgument } from './member-flags.ts';

export const memberPromote = defineCommand({
  path: ['kv', 'member', 'promote'],
  summary: 'Make a learner a voting member, once it has caught up',
  args: [memberArgument],
  flags: endpointFlags,
  run: (context, values) =>
    changeMember(context, values, (member, { cluster }) => ({
      operation: 'member-promote',
      plan: async (observation, id) =>
        (await membershipPlans()).promotePlan({ id, observation, cluster }, member),
      acts: membershipActs,
      question: `Promote ${values.member}?`,
    })),
});

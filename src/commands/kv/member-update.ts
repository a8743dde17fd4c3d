import { defineCommand } from '../../cli/command.ts';
import { peerUrlsOf } from '../../kv/operations/peer-urls.ts';
import { changeMember, membershipActs, membershipPlans } from './change-member.ts';
import { endpointFlags } from './flags.ts';
import { memberArgument, peerUrlsFlag } from './member-flags.ts';

export const memberUpdate = defineCommand({
  path: ['kv', 'member', 'update'],
  summary: 'Change the peer URLs of a member',
  args: [memberArgument],
  flags: { ...endpointFlags, 'peer-urls': peerUrlsFlag },
  run: (context, values) =>
    changeMember(context, values, (member, { cluster }) => ({
      operation: 'member-update',
      plan: async (observation, id) =>
        (await membershipPlans()).updatePlan(
          { id, observation, cluster },
          member,
          peerUrlsOf(values['peer-urls']),
        ),
      acts: membershipActs,
      question: `Change the peer URLs of ${values.member}?`,
    })),
});

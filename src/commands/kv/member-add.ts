import { defineCommand } from '../../cli/command.ts';
import { bool, req, str } from '../../core/field.ts';
import { peerUrlsOf } from '../../kv/operations/peer-urls.ts';
import { membershipActs, membershipPlans } from './change-member.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { operated } from './operated.ts';
import { peerUrlsFlag } from './member-flags.ts';

export const memberAdd = defineCommand({
  path: ['kv', 'member', 'add'],
  summary: 'Add a member, and print what it is started with',
  args: [{ name: 'name', field: req(str(undefined, { min: 1 })), summary: 'Name of the new member' }],
  flags: {
    ...endpointFlags,
    'peer-urls': peerUrlsFlag,
    learner: {
      field: bool(),
      summary: 'It gets the data and does not vote before it is promoted (3.4 and later)',
    },
  },
  examples: [
    {
      line: 'opsctl kv member add n4 --peer-urls http://10.0.0.4:2380 --learner --cluster cluster.yaml',
      says: 'then start it, then opsctl kv member promote n4',
    },
  ],
  run: async (context, values) => {
    const given = {
      name: values.name,
      peerUrls: peerUrlsOf(values['peer-urls']),
      isLearner: values.learner ?? false,
    };
    const opened = await openCluster(context, values);
    return operated(context, opened, {
      operation: 'member-add',
      subject: values.name,
      plan: async (observation, id) =>
        (await membershipPlans()).addPlan({ id, observation, cluster: opened.cluster }, given),
      acts: membershipActs,
      question: `Add ${values.name} to ${opened.cluster.name}?`,
    });
  },
});

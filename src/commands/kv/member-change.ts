import { bool, req, str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import type { ListedMember } from '../../etcd-client/etcd-client.ts';
import { type Context, defineCommand, type Argument, type Flag } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { type EndpointValues, type Opened, endpointFlags, openCluster } from './cluster.ts';
import { memberNamed } from './members.ts';
import { type Asked, operated } from './operating.ts';

const memberArgument = {
  name: 'member',
  field: req(str(undefined, { min: 1 })),
  summary: 'Name or hexadecimal id of the member',
  complete: 'kv-member',
} as const satisfies Argument;
const peerUrls = {
  field: req(str(undefined, { min: 1 })),
  required: true,
  summary: 'URLs at which the others call it, comma-separated',
  value: 'urls',
} as const satisfies Flag;

/** Whole URLs of a scheme, a host and a port, and nothing else: the store takes no other. */
const urlsOf = (text: string): string[] => {
  const urls = text.split(',').map((url) => url.trim());
  const isPeerUrl = (url: string): boolean =>
    URL.canParse(url) &&
    /^https?:$/.test(new URL(url).protocol) &&
    new URL(url).port !== '' &&
    new URL(url).pathname === '/' &&
    !url.endsWith('/');
  const wrong = urls.find((url) => !isPeerUrl(url));
  if (wrong === undefined) return urls;
  throw invalidArguments([
    problem('--peer-urls', 'format', `must be URLs like http://10.0.0.4:2380; got ${JSON.stringify(wrong)}`),
  ]);
};

/** The member that is meant, and what is done with it. */
const changing = async (
  context: Context,
  values: EndpointValues & { readonly member: string },
  asked: (member: ListedMember, opened: Opened) => Asked,
) => {
  const opened = await openCluster(context, values);
  const members = await askAny(context, opened, (store) => store.members());
  return operated(context, opened, asked(memberNamed(members, values.member), opened));
};
const acts: Asked['acts'] = async () =>
  (await import('../../kv-operations/membership/acts.ts')).membershipActs;
const plans = () => import('../../kv-operations/membership/plan.ts');

export const memberAdd = defineCommand({
  path: ['kv', 'member', 'add'],
  summary: 'Add a member, and print what it is started with',
  args: [{ name: 'name', field: req(str(undefined, { min: 1 })), summary: 'Name of the new member' }],
  flags: {
    ...endpointFlags,
    'peer-urls': peerUrls,
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
      peerUrls: urlsOf(values['peer-urls']),
      isLearner: values.learner ?? false,
    };
    const opened = await openCluster(context, values);
    return operated(context, opened, {
      operation: 'member-add',
      subject: values.name,
      plan: async (observation, id) =>
        (await plans()).addPlan({ id, observation, cluster: opened.cluster }, given),
      acts,
      question: `Add ${values.name} to ${opened.cluster.name}?`,
    });
  },
});

export const memberPromote = defineCommand({
  path: ['kv', 'member', 'promote'],
  summary: 'Make a learner a voting member, once it has caught up',
  args: [memberArgument],
  flags: endpointFlags,
  run: (context, values) =>
    changing(context, values, (member, { cluster }) => ({
      operation: 'member-promote',
      plan: async (observation, id) => (await plans()).promotePlan({ id, observation, cluster }, member),
      acts,
      question: `Promote ${values.member}?`,
    })),
});

export const memberUpdate = defineCommand({
  path: ['kv', 'member', 'update'],
  summary: 'Change the peer URLs of a member',
  args: [memberArgument],
  flags: { ...endpointFlags, 'peer-urls': peerUrls },
  run: (context, values) =>
    changing(context, values, (member, { cluster }) => ({
      operation: 'member-update',
      plan: async (observation, id) =>
        (await plans()).updatePlan({ id, observation, cluster }, member, urlsOf(values['peer-urls'])),
      acts,
      question: `Change the peer URLs of ${values.member}?`,
    })),
});

export const memberRemove = defineCommand({
  path: ['kv', 'member', 'remove'],
  summary: 'Remove a member for good, when the others keep a majority',
  args: [memberArgument],
  flags: endpointFlags,
  run: (context, values) =>
    changing(context, values, (member, { cluster }) => ({
      operation: 'member-remove',
      plan: async (observation, id) =>
        (await import('../../kv-operations/membership/remove-plan.ts')).removePlan(
          { id, observation, cluster },
          member,
        ),
      acts,
      question: `Remove ${values.member} from ${cluster.name} for good?`,
    })),
});

import { req, str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { defineCommand, type Flags } from '../../cli/command.ts';
import { clusterFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { operated } from './operated.ts';
import { stepFlags } from './operation-flags.ts';
import { runFlags } from './run-flags.ts';

const flags = { ...clusterFlags, ...stepFlags, canary: runFlags.canary } as const satisfies Flags;

export const replaceMember = defineCommand({
  path: ['kv', 'replace-member'],
  summary: 'Give a member that lost its data a new data directory, and the data of the others',
  about:
    'For a failed disk, a deleted data directory, or data that differ from the others. The member is stopped, removed, added again as a learner (3.4 and later), started with an empty data directory, ' +
    'promoted when it has all data, and checked. What is left of its data is kept. The others have to be healthy all the time: never two members are down. ' +
    'Interrupted, the same command goes on where it was.',
  args: [
    {
      name: 'member',
      field: req(str(undefined, { min: 1 })),
      summary: 'Name of the member in the cluster file',
      complete: 'kv-member',
    },
  ],
  flags,
  examples: [
    {
      line: 'opsctl kv replace-member n2 --cluster cluster.yaml --dry-run',
      says: 'the steps, and what the preflight checks found',
    },
    { line: 'opsctl kv replace-member n2 --cluster cluster.yaml', says: 'after the disk was replaced' },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values, 'upgrade');
    const { cluster } = opened;
    const member = cluster.members.find(({ name }) => name === values.member);
    if (member === undefined) {
      const names = cluster.members.map(({ name }) => name).join(', ');
      throw invalidArguments([problem('<member>', 'enum', `must be one of ${names}`)]);
    }
    return operated(context, opened, {
      operation: 'replace-member',
      subject: member.name,
      plan: async (observation, id) =>
        (await import('../../kv/operations/replace-plan.ts')).replacePlan({
          id,
          observation,
          cluster,
          member,
        }),
      acts: async () => {
        const [{ replaceActs }, { shellsOf }] = await Promise.all([
          import('../../kv/operations/replace.ts'),
          import('../../kv/upgrade/supervisors/open.ts'),
        ]);
        return replaceActs(await shellsOf(context.host, cluster, context.settings.directories.state));
      },
      question: `Replace ${member.name} of ${cluster.name}? Its data are given up.`,
      hasCanary: values.canary !== false,
      confirmsEach: values['confirm-each'],
    });
  },
});

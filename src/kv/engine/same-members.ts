import { AppError } from '../../core/problem.ts';
import type { ClusterFile, Plan } from './types.ts';
import type { FoundRun } from './journal.ts';

/** Runs are kept by the cluster's name: a run of another cluster of that name must not go on here. */
export const refuseOtherMembers = (
  cluster: ClusterFile,
  { run }: Pick<FoundRun, 'run'>,
  { observation }: Pick<Plan, 'observation'>,
): void => {
  const urls = (members: readonly { readonly name: string; readonly client_url: string }[]): string =>
    members
      .map(({ name, client_url }) => `${name} ${client_url}`)
      .sort()
      .join(', ');
  const [then, now] = [urls(observation.members), urls(cluster.members)];
  if (then === now) return;
  throw new AppError(
    'unsafe',
    `run ${run} of a cluster ${cluster.name} was made for other members (${then}) than the cluster file names (${now})`,
    {
      code: 'OTHER_CLUSTER',
      tryThis: [
        'give each cluster file a name of its own',
        'take the cluster file that the run was made with',
      ],
    },
  );
};

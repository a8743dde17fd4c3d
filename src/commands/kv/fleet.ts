import { defineCommand, type Context } from '../../cli/command.ts';
import { problem } from '../../core/problem.ts';
import { rawResult, type Result } from '../../core/result.ts';
import type { Fleet } from '../../kv/upgrade/fleet/fleet-file.ts';
import { fleetArgs, fleetFlags, type FleetValues, lastMemberFlags } from './fleet-flags.ts';
import { fleetUpgrade } from './fleet-upgrade.ts';

const run = async (context: Context, values: FleetValues): Promise<Result> => {
  const { readFleet } = await import('../../kv/upgrade/fleet/fleet-file.ts');
  const read = await readFleet(context.host, values.file);
  const fleet: Fleet = { ...read, atOnce: values['at-once'] ?? read.atOnce };
  if (values.emit === undefined) return fleetUpgrade(context, values, fleet);
  const { fleetText } = await import('../../kv/upgrade/fleet/emit-fleet.ts');
  return rawResult(
    fleetText(values.emit, { fleet, lastMember: lastMemberFlags(values), image: values.image }),
  );
};

export const fleet = defineCommand({
  path: ['kv', 'fleet'],
  noDryRun: 'opsctl kv upgrade --dry-run shows the plan of each cluster; --emit only prints',
  summary: 'Upgrade many clusters: a canary first, then several at once, stop at the first failure',
  about:
    'The fleet file is YAML: `clusters`, a list of cluster files, and optionally `name`, `canary` and `at_once`. Every cluster is checked before the first one is touched. Clusters that run the new version already count as done, and the same command goes on with a run that was killed. Exit code 9 when some were not upgraded. ' +
    'With --emit an engine does the same: it runs `opsctl kv upgrade` for each cluster, where its inventory says.',
  args: fleetArgs,
  flags: fleetFlags,
  examples: [
    {
      line: 'opsctl kv fleet fleet.yaml --yes --accept-point-of-no-return',
      says: 'all clusters of the file, to the end',
    },
    { line: 'opsctl kv fleet fleet.yaml --hold-last', says: 'every cluster up to its last member' },
    {
      line: 'opsctl kv fleet fleet.yaml --accept-point-of-no-return --emit ansible > playbook.yaml',
      says: 'a playbook; --emit ansible-inventory writes its inventory',
    },
  ],
  check: (values) => [
    ...(lastMemberFlags(values).length === 1
      ? []
      : [
          problem(
            '--accept-point-of-no-return',
            'required',
            'or --hold-last must be given, and not both: the clusters are upgraded unattended',
          ),
        ]),
    ...(values.emit === 'argo' && values.image === undefined
      ? [problem('--image', 'required', 'must name the image that the workflow runs')]
      : []),
  ],
  run,
});

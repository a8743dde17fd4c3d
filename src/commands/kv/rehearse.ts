import { childPath, pathPart } from '../../core/file-name.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { problem } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { noPlan } from './outcome.ts';
import { prepare } from './prepare.ts';
import { rehearseFlags, type RehearseValues } from './rehearse-flags.ts';
import { rehearsedIn } from './rehearsed-in.ts';

const run = async (context: Context, values: RehearseValues): Promise<Result> => {
  const { host, settings } = context;
  const prepared = await prepare(context, values);
  const [{ isRefusal }, { keepReport }, { rehearsalEnding }] = await Promise.all([
    import('../../kv/upgrade/plan.ts'),
    import('../../kv/upgrade/rehearse/keep-report.ts'),
    import('../../kv/upgrade/rehearse/ending.ts'),
  ]);
  const { made, opened, run: id } = prepared;
  if (isRefusal(made)) throw noPlan(made);
  const directory = childPath(
    host.files.temporaryDirectory(),
    pathPart(`opsctl-rehearsal-${host.pid}-${Buffer.from(host.random(4)).toString('hex')}`),
  );
  await host.files.makeDirectory(directory, 0o700);
  try {
    const ended = await rehearsedIn(context, values, prepared, made, directory);
    const state = settings.directories.clusters;
    return rehearsalEnding(ended, await keepReport(host, state, opened.cluster.name, directory, id));
  } finally {
    if (values.keep) context.log.info(`the private copy is kept in ${directory}`);
    else await host.files.remove(directory);
  }
};

export const rehearse = defineCommand({
  path: ['kv', 'rehearse'],
  noDryRun: 'it only works on copies; opsctl kv plan shows the steps',
  summary: 'Run the upgrade on a private copy of the cluster first',
  about:
    'Restores a snapshot into a private cluster on this machine and carries out the same plan there: with the real binaries when the cluster file names them and ctl_binary, on simulated servers otherwise. ' +
    'The cluster itself is only read. Exit code 20 when the rehearsal did not go through.',
  flags: rehearseFlags,
  examples: [{ line: 'opsctl kv rehearse --cluster cluster.yaml', says: 'the night before' }],
  check: (values) =>
    values.real && values.simulated
      ? [problem('--simulated', 'exclusive', 'cannot be given together with --real')]
      : [],
  run,
});

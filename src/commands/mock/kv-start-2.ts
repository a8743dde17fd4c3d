import { defineCommand, type Context } from '../../cli/command.ts';
import type { Rehearsal } from '../../etcd-sim/cluster/layout.ts';
import { chosen, directoryOf, rehearsalIn } from './directory.ts';
import { startFlags, type StartValues } from './kv-start.ts';
import { startOptions } from './start-options.ts';

const startAgain = async (context: Context, values: StartValues): Promise<Rehearsal> => {
  const { pidOf, startProcess } = await import('../../etcd-sim/cluster/processes.ts');
  const { waitHealthy } = await import('../../etcd-sim/cluster/start.ts');
  const rehearsal = await rehearsalIn(context, values);
  const members = chosen(rehearsal, values.member).filter(
    (member) => pidOf(context.host, member) === undefined,
  );
  await Promise.all(
    members.map((member) => startProcess(context.host, rehearsal, member, values.binary ?? 'old')),
  );
  if (values.wait !== false) await waitHealthy(context.host, members, context.signal);
  return rehearsal;
};

const startNew = async (context: Context, values: StartValues): Promise<Rehearsal> => {
  const [{ startRehearsal }, { readContent }] = await Promise.all([
    import('../../etcd-sim/cluster/start.ts'),
    import('../../etcd-sim/cluster/content.ts'),
  ]);
  const content = values.keys === undefined ? undefined : await readContent(context.host, values.keys);
  const more = { mayReplace: values.replace ?? false, content, signal: context.signal };
  return startRehearsal(context.host, directoryOf(context, values), startOptions(values), more);
};

export const start = defineCommand({
  path: ['mock', 'kv', 'start'],
  noDryRun: 'opsctl mock kv start --help',
  summary: 'Start a simulated cluster to rehearse an upgrade on',
  about:
    'Each member is a process of its own that speaks the interfaces of its version and agrees with the others like real servers do. It is a rehearsal, not a database. The directory gets a cluster.yaml for `opsctl kv … --cluster`, with an old and a new binary.',
  flags: startFlags,
  examples: [
    { line: 'opsctl mock kv start --members 3 --dir ./rehearsal', says: 'three members of 3.2' },
    { line: 'opsctl kv upgrade --cluster ./rehearsal/cluster.yaml', says: 'the upgrade itself' },
  ],
  run: async (context, values) => {
    const isAgain = values.again || values.member !== undefined;
    const rehearsal = await (isAgain ? startAgain : startNew)(context, values);
    return (await import('../../etcd-sim/cluster/started-rehearsal.ts')).startedRehearsal(rehearsal);
  },
});

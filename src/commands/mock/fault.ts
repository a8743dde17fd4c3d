import { defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { faultKinds } from '../../etcd-sim/faults.ts';
import { chosen, rehearsalIn } from './directory.ts';
import { faultArgs, faultFlags } from './kv-fault-flags.ts';

const list = Object.entries(faultKinds).map(([kind, { says }]) => `${kind}: ${says}`);

export const fault = defineCommand({
  path: ['mock', 'kv', 'fault'],
  noDryRun: 'opsctl mock kv status',
  summary: 'Make a simulated member fail in a chosen way',
  about: [
    ...list,
    'nospace, corrupt: raises that alarm',
    'clear: takes all faults and alarms of the member back',
  ].join('\n'),
  args: faultArgs,
  flags: faultFlags,
  examples: [
    {
      line: 'opsctl mock kv fault crash-at-start --member n2 --only-version 3.3',
      says: 'the new binary of n2 crashes when it starts',
    },
  ],
  async run(context, values) {
    const rehearsal = await rehearsalIn(context, values);
    const members = chosen(rehearsal, values.member);
    const { setFault } = await import('../../etcd-sim/cluster/set-fault.ts');
    for (const member of members) await setFault(context.host, rehearsal, member, values);
    const names = members.map((member) => member.name);
    return recordResult(
      { kind: values.kind, members: names },
      { text: `${values.kind} on ${names.join(', ')}`, name: 'kind' },
    );
  },
});

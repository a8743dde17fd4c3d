import { bool } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { chosen, dirFlag, memberFlag, rehearsalIn } from './directory.ts';

export const stop = defineCommand({
  path: ['mock', 'kv', 'stop'],
  noDryRun: 'opsctl mock kv status',
  summary: 'Stop a simulated cluster or one of its members',
  flags: {
    dir: dirFlag,
    member: memberFlag,
    kill: { field: bool(), summary: 'Kill at once instead of a graceful end' },
    remove: { field: bool(), summary: 'Remove the directory as well' },
  },
  async run(context, values) {
    const { pidOf, stopProcess } = await import('../../etcd-sim/cluster/processes.ts');
    const rehearsal = await rehearsalIn(context, values);
    const members = chosen(rehearsal, values.member);
    const stopped = await Promise.all(
      members.map(async (member) => {
        const pid = values.kill ? pidOf(context.host, member) : undefined;
        if (pid !== undefined) context.host.processes.signal(pid, 'SIGKILL');
        const how = await stopProcess(context.host, member);
        return { name: member.name, result: pid === undefined ? how : 'killed' };
      }),
    );
    if (values.remove && values.member === undefined) await context.host.files.remove(rehearsal.directory);
    const message = stopped.map(({ name, result }) => `${name} ${result}`).join(', ');
    return recordResult({ dir: rehearsal.directory, members: stopped }, { text: message, name: 'dir' });
  },
});

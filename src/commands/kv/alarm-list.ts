import { defineCommand } from '../../cli/command.ts';
import { rowsResult } from '../../core/result.ts';
import { hexId } from '../../kv/client/hex-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

export const alarmList = defineCommand({
  path: ['kv', 'alarm', 'list'],
  summary: 'List the alarms that are raised',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [alarms, members] = await askAny(context, opened, (store) =>
      Promise.all([store.alarms(), store.members()]),
    );
    const rows = alarms.map(({ member_id, alarm }) => ({
      member_id: hexId(member_id),
      member: members.find(({ id }) => id === member_id)?.name ?? '',
      alarm,
    }));
    return rowsResult(rows, { columns: ['member_id', 'member', 'alarm'], name: 'alarm' });
  },
});

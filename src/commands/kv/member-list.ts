import { defineCommand } from '../../cli/command.ts';
import { rowsResult } from '../../core/result.ts';
import { hexId } from '../../kv/client/hex-id.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

export const memberList = defineCommand({
  path: ['kv', 'member', 'list'],
  summary: 'List the members that the cluster knows',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const members = await askAny(context, opened, (store) => store.members());
    const rows = members.map(({ id, name, peer_urls, client_urls, is_learner }) => ({
      id: hexId(id),
      status: name === '' ? 'unstarted' : 'started',
      name,
      peer_urls,
      client_urls,
      is_learner,
    }));
    return rowsResult(rows, { columns: ['id', 'status', 'name', 'peer_urls', 'client_urls', 'is_learner'] });
  },
});

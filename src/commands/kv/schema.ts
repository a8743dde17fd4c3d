import { defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';

export const schema = defineCommand({
  path: ['kv', 'schema'],
  summary: 'Print the JSON Schema of cluster files, for editors',
  run: async () => {
    const { clusterSchema } = await import('../../kv/upgrade/cluster/cluster-file.ts');
    return recordResult(clusterSchema(), { text: JSON.stringify(clusterSchema(), null, 2) });
  },
});

import { bool, list, oneOf } from '../../core/field.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { kindNames } from '../../tracker/workspace/kinds.ts';

export const exportCommand = defineCommand({
  path: ['tracker', 'export'],
  summary:
    'Write labels, categories, groups, custom fields, objectives, projects, iterations, epics, linked files and story templates as a file',
  about: 'The file is what `tracker diff` and `tracker apply` read: applying it unchanged sends nothing.',
  flags: {
    only: { field: list(oneOf(...kindNames)), repeat: true, summary: 'Only these lists', value: 'list' },
    json: { effects: [], field: bool(), summary: 'As data for -o and --jq instead of YAML text' },
  },
  examples: [{ line: 'opsctl tracker export > workspace.yaml', says: 'Everything' }],
  run: async (context, values): Promise<Result> => {
    const kinds = values.only ?? kindNames;
    const { exportData, exportText } = await import('../../tracker/workspace/export.ts');
    return values.json
      ? recordResult(await exportData(context, kinds))
      : { kind: 'raw', chunks: exportText(context, kinds) };
  },
});

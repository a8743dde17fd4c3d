import { rawResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

export const schema = defineCommand({
  path: ['labels', 'schema'],
  summary: 'Print the JSON Schema of label definitions',
  about:
    'Editors with a YAML language server complete and check definition files with it. `labels export --directory` writes it beside the files and names it in their first line.',
  examples: [{ line: 'opsctl labels schema > labels.schema.json', says: 'For an editor' }],
  run: async () => rawResult((await import('../../labels/schema.ts')).schemaText()),
});

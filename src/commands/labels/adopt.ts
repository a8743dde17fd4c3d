import { rowsResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { adminFlag, deploymentFlag, filesFlag } from './flags.ts';

export const adopt = labelCommand(
  defineCommand({
    path: ['labels', 'adopt'],
    summary: 'Bind definition files to the labels that exist',
    about: [
      'Writes labels.lock.yaml beside the files: for each label a stable key and, for this deployment, its id, the ids of its fields and choices, the revision and a digest. Commit it. Nothing changes in the service; records that are there stay.',
      'From then on edits, renames and promotions to other deployments reach the same label.',
    ].join('\n'),
    flags: { file: { ...filesFlag, required: true }, deployment: deploymentFlag, admin: adminFlag },
    examples: [
      {
        line: 'opsctl labels adopt -f labels/',
        says: 'Once, after an export or a clone of files without a lock file',
      },
    ],
    run: async (context, values) => {
      const { adoptFiles } = await import('../../labels/adopt.ts');
      const { deployment } = values;
      const asking = { admin: values.admin ?? false, ...(deployment === undefined ? {} : { deployment }) };
      return rowsResult(await adoptFiles(context, values.file, asking), {
        columns: ['key', 'title', 'id', 'status', 'file'],
        name: 'key',
      });
    },
  }),
);

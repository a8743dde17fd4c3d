import { type Page, heading, prose, shell } from '../../core/page.ts';

export const page: Page = {
  title: 'opsctl help ci',
  summary: 'Pipelines: exit codes and snippets',
  blocks: [
    prose(
      'With CI set nothing is asked, nothing is drawn over and there is no pager. Decide by exit code: 0 done, 20 the answer is no (a difference, an unhealthy cluster), everything else is a failure. `opsctl help exit-codes` lists them.',
    ),
    heading('Examples'),
    shell(
      'Test a script against services of its own',
      'opsctl mock run -- opsctl tracker labels list -o name',
    ),
    shell('Save the workspace as a file to review', 'opsctl tracker export > workspace.yaml'),
    shell('Fail the job when the tracker differs from the file', 'opsctl tracker diff -f workspace.yaml'),
    shell('Create what is missing, change what differs', 'opsctl tracker apply -f workspace.yaml --yes'),
  ],
};

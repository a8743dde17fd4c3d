import { type Page, heading, prose, shell } from '../../core/page.ts';

export const page: Page = {
  title: 'opsctl help ci',
  summary: 'Pipelines: exit codes and snippets',
  blocks: [
    prose(
      'With CI set nothing is asked, nothing is drawn over and there is no pager. Decide by exit code: 0 done, 20 the answer is no (a difference, an unhealthy cluster), everything else is a failure. `opsctl help exit-codes` lists them.',
    ),
    prose(
      'On GitHub Actions, findings and problems with a file and a line stand beside that line, and a table of them in the job summary; on GitLab they are a section of the log, and `--report codequality=FILE` makes the artifact that a merge request shows. `--report` takes junit, sarif, codequality and markdown, with kv check, labels lint, labels diff, tracker diff and tracker bulk. `action.yml` and `Containerfile` lie in the repository.',
    ),
    heading('Examples'),
    shell(
      'Test a script against services of its own',
      'opsctl mock run -- opsctl tracker labels list -o name',
    ),
    shell('Save the workspace as a file to review', 'opsctl tracker export > workspace.yaml'),
    shell('Fail the job when the tracker differs from the file', 'opsctl tracker diff -f workspace.yaml'),
    shell(
      'The same as test results and for code scanning',
      'opsctl tracker diff -f workspace.yaml --report junit=tracker.xml,sarif=tracker.sarif',
    ),
    shell('Create what is missing, change what differs', 'opsctl tracker apply -f workspace.yaml --yes'),
  ],
};

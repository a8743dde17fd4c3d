import { bool, oneOf, str } from '../../core/field.ts';
import { problem } from '../../core/problem.ts';
import { defineCommand } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { comparingFlags, comparingOptions, filesFlag } from './flags.ts';

export const apply = labelCommand(
  defineCommand({
    path: ['labels', 'apply'],
    summary: 'Make labels what their files say',
    about: [
      'Reads label definitions (YAML or JSON, several documents and files, a directory), compares each with the service, shows the difference (+ added, ~ renamed or changed, > moved, - disabled, x deleted, * published) and sends it as one atomic delta, pinned to the revision that was shown. A second run sends nothing.',
      '',
      'A member that the file does not have is left as it is; null, [] or false is none. Fields and choices that a list leaves out are disabled, or deleted with --prune; drafts are deleted at once.',
      'Limits, locks, rights and frozen types are checked before anything is sent.',
      '',
      'With labels.lock.yaml in the directory (see `opsctl labels adopt`) definitions keep their labels across renames and deployments, and what others changed since the last apply is never undone: exit 10, until --take says who wins.',
    ].join('\n'),
    flags: {
      file: filesFlag,
      plan: {
        effects: ['reads'],
        field: str(),
        summary: 'Send exactly this plan of `labels plan`',
        value: 'plan.json',
        complete: 'file',
      },
      take: {
        field: oneOf('ours', 'theirs'),
        summary:
          'Where others changed what the file says: undo it (ours), or write it into the file (theirs)',
      },
      force: { field: bool(), summary: 'The same as --take ours' },
      ...comparingFlags,
    },
    examples: [
      { line: 'opsctl labels apply -f contract.yaml --dry-run', says: 'Show what would be changed' },
      { line: 'opsctl labels apply -f contract.yaml --publish', says: 'Change and publish' },
      { line: 'opsctl labels apply --plan plan.json', says: 'Send what was reviewed, or nothing' },
      {
        line: 'opsctl labels export Contract | opsctl labels apply -f -',
        says: 'Sends nothing: the export is the definition',
      },
    ],
    check: ({ file, plan, take, force }) => {
      if (plan !== undefined && (file ?? []).length > 0)
        return [problem('--plan', 'exclusive', 'cannot be given together with --file')];
      if (take === 'theirs' && force) return [problem('--force', 'exclusive', 'contradicts --take theirs')];
      return plan === undefined && (file ?? []).length === 0
        ? [problem('--file', 'required', 'is required', 'or --plan')]
        : [];
    },
    run: async (context, values) => {
      const { apply: run, applyResult } = await import('../../labels/apply-result.ts');
      const take = values.force ? 'ours' : values.take;
      const options = { ...comparingOptions(values), ...(take === undefined ? {} : { take }) };
      return applyResult(context, await run(context, values.plan, values.file ?? [], options));
    },
  }),
);

import { defineCommand } from '../../cli/command.ts';
import { bool, list, str } from '../../core/field.ts';
import type { Argument, Flags } from '../../core/flag.ts';
import { problem } from '../../core/problem.ts';
import { type CheckFinding, recordResult, rowsResult } from '../../core/result.ts';
import { labelCommand } from '../../labels/api-types.ts';
import type { Finding } from '../../labels/lint.ts';
import { adminFlag, deploymentFlag, filesFlag, labelArgument } from './flags.ts';

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

export const exportLabels = labelCommand(
  defineCommand({
    path: ['labels', 'export'],
    summary: 'Write labels as definition files',
    about: [
      'Prints YAML documents as the pages arrive, with -o json one list of them, or writes one file a label with --directory; --directory with the name of a YAML file writes them into that one.',
      'A file that is there follows a rename of its label; labels.lock.yaml, if there is one, is brought up to date.',
      '`labels apply` reads all of these back and changes nothing.',
    ].join('\n'),
    args: [
      {
        name: 'labels',
        field: list(str()),
        summary: 'Titles, ids or labels/<id>',
        optional: true,
        rest: true,
        complete: 'label',
      },
    ],
    flags: {
      all: { field: bool(), summary: 'All labels' },
      directory: {
        effects: ['reads', 'writes'],
        field: str(),
        short: 'f',
        summary: 'Write one file a label into this directory; a name in .yaml is one file for all',
        value: 'directory|file.yaml',
        complete: 'file',
      },
      published: { field: bool(), summary: 'The published revisions (default: the newest ones)' },
      permissions: { field: bool(), summary: 'With the permissions; one more request for each label' },
      deployment: deploymentFlag,
      admin: adminFlag,
    },
    examples: [
      { line: 'opsctl labels export Contract > contract.yaml', says: 'One label' },
      { line: 'opsctl labels export --all -f labels/', says: 'Every label, a file each' },
    ],
    check: (values) => {
      const isNamed = (values.labels?.length ?? 0) > 0;
      if (isNamed && values.all)
        return [problem('--all', 'exclusive', 'cannot be given together with labels')];
      return isNamed || values.all ? [] : [problem('<labels>', 'required', 'is required', 'or --all')];
    },
    run: async (context, values) => {
      const { exportResult } = await import('../../labels/export.ts');
      const { all = false, published = false, permissions = false, admin = false } = values;
      const options = { all, published, permissions, admin };
      return exportResult(context, values.labels ?? [], options, values.directory, values.deployment);
    },
  }),
);

/** A finding as reports for CI have it. */
const toCheckFinding = ({ lint: rule, file, line, column, hint, path, message }: Finding): CheckFinding => ({
  rule,
  level: 'fail',
  message: path === '' ? message : `${path} ${message}`,
  hint,
  file,
  line,
  column,
});
export const lint = defineCommand({
  path: ['labels', 'lint'],
  summary: 'Check label definitions against the rules of the team',
  about: [
    'Rules stand in labels.lint.yaml beside the files: `description`, `name_pattern`, `badge_contrast`, `editors`; `false` turns one off. With a lock file, definitions and records without their counterpart are found as well. No network.',
    'Exit code 0: nothing found. 20: findings.',
  ].join('\n'),
  flags: {
    file: { ...filesFlag, required: true },
    rules: {
      effects: ['reads'],
      field: str(),
      summary: 'Rules from this file (default labels.lint.yaml beside the definitions)',
      value: 'file',
      complete: 'file',
    },
  },
  isCheck: true,
  examples: [{ line: 'opsctl labels lint -f labels/', says: 'Check in CI' }],
  run: async (context, values) => {
    const { lintFiles, findingText } = await import('../../labels/lint.ts');
    const { findings, count } = await lintFiles(context, values.file, values.rules);
    const text =
      findings.length === 0 ? `${count} definitions, no findings` : findings.map(findingText).join('\n');
    const report = (): CheckFinding[] =>
      findings.length === 0 ? [{ rule: 'lint', level: 'pass', message: text }] : findings.map(toCheckFinding);
    return recordResult(
      { definitions: count, findings },
      { text, findings: report },
      findings.length > 0 ? 'no' : undefined,
    );
  },
});

export const validate = defineCommand({
  path: ['labels', 'validate'],
  summary: 'Check label definitions without a network',
  about:
    'Reports everything that is wrong with the files, each with file, line and column. Exit code 0: valid. 2: not. Limits, locks and rights are the service’s: `labels plan` checks them.',
  flags: { file: { ...filesFlag, required: true } },
  examples: [{ line: 'opsctl labels validate -f labels/', says: 'In a pre-commit hook' }],
  run: async (context, values) => {
    const { readWishes } = await import('../../labels/desired.ts');
    const wishes = await readWishes(context, values.file);
    const rows = wishes.map(({ source, wanted }) => ({ title: wanted.title, file: source, valid: true }));
    return rowsResult(rows, {
      columns: ['title', 'file'],
      name: 'title',
      message: `${rows.length} definitions are valid`,
    });
  },
});

const flags = { admin: adminFlag } as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];
export const locks = labelCommand(
  defineCommand({
    path: ['labels', 'locks'],
    summary: 'Show what of a label is locked, as a tree',
    about:
      'A lock guards its part and what is inside; what holds a locked part cannot be disabled or deleted. `labels locks list` has the plain list.',
    args,
    flags,
    examples: [{ line: 'opsctl labels locks Contract', says: 'Label, fields and choices with their locks' }],
    run: async (context, values) => {
      const { showLocks } = await import('../../labels/lock-file.ts');
      return showLocks(context, values.label, { admin: values.admin ?? false });
    },
  }),
);

import { defineCommand } from '../../cli/command.ts';
import { bool, list, str } from '../../core/field.ts';
import type { Argument, Flags } from '../../core/flag.ts';
import { problem } from '../../core/problem.ts';
import { countText } from '../../core/format.ts';
import { type CheckFinding, recordResult, rowsResult } from '../../core/result.ts';
import { labelCommand } from '../../labels/api-types.ts';
import type { Finding } from '../../labels/lint.ts';
import { adminFlag, deploymentFlag, filesFlag, labelArgument, valuesFlag } from './flags.ts';

export const adopt = labelCommand(
  defineCommand({
    path: ['labels', 'adopt'],
    summary: 'Bind definition files to existing labels',
    about: [
      'Writes labels.lock.yaml next to the files. For each label it contains a stable key and, for this deployment, the IDs of the label, its fields and choices, the revision and a digest. Commit the file. Makes no changes in the service, and keeps existing entries.',
      'Later edits, renames and promotions to other deployments then reach the same label.',
    ].join('\n'),
    flags: {
      file: { ...filesFlag, required: true },
      forget: {
        effects: ['writes'],
        field: list(str()),
        repeat: true,
        summary: 'Only remove these entries, whose definitions are gone; labels are not changed',
        value: 'key',
      },
      deployment: deploymentFlag,
      values: valuesFlag,
      admin: adminFlag,
    },
    examples: [
      {
        line: 'opsctl labels adopt -f labels/',
        says: 'Run once after an export, or for files without a lock file',
      },
      {
        line: 'opsctl labels adopt -f labels/ --forget old-label',
        says: 'Remove the entry of a definition that was deleted',
      },
    ],
    run: async (context, values) => {
      const { adoptFiles } = await import('../../labels/adopt.ts');
      const { deployment, forget, values: valuesFile } = values;
      const asking = {
        admin: values.admin ?? false,
        ...(deployment === undefined ? {} : { deployment }),
        ...(forget === undefined ? {} : { forget }),
        ...(valuesFile === undefined ? {} : { values: valuesFile }),
      };
      return rowsResult(await adoptFiles(context, values.file, asking), {
        columns: ['key', 'title', 'status', 'file', 'id'],
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
      'Prints YAML documents as the pages arrive, or one list with -o json. With --directory, writes one file per label; a directory name that ends in .yaml writes all labels into that file.',
      'Existing files follow renames of their labels. Updates labels.lock.yaml if it exists.',
      '`labels apply` accepts all of these files; applying them unchanged sends no changes.',
    ].join('\n'),
    args: [
      {
        name: 'labels',
        field: list(str()),
        summary: 'Titles, IDs or labels/<id>',
        optional: true,
        rest: true,
        complete: 'label',
      },
    ],
    flags: {
      all: { field: bool(), summary: 'Export all labels' },
      directory: {
        effects: ['reads', 'writes'],
        field: str(),
        short: 'f',
        summary: 'Write one file per label into this directory; a name in .yaml writes one file for all',
        value: 'directory|file.yaml',
        complete: 'file',
      },
      published: { field: bool(), summary: 'Export the published revisions (default: the newest revisions)' },
      permissions: { field: bool(), summary: 'Include permissions; requires one more request per label' },
      deployment: deploymentFlag,
      admin: adminFlag,
    },
    examples: [
      { line: 'opsctl labels export Contract > contract.yaml', says: 'Export one label' },
      { line: 'opsctl labels export --all -f labels/', says: 'Export every label into its own file' },
    ],
    check: (values) => {
      const isNamed = (values.labels?.length ?? 0) > 0;
      if (isNamed && values.all) return [problem('--all', 'exclusive', 'cannot be combined with labels')];
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
  hint: hint?.toString(),
  file,
  line,
  column,
});
export const lint = defineCommand({
  path: ['labels', 'lint'],
  summary: 'Lint label definitions with the rules of your team',
  about: [
    'labels.lint.yaml next to the files defines the rules: `description`, `name_pattern`, `badge_contrast`, `editors`; `false` disables a rule. With a lock file, also reports definitions and lock entries without a counterpart. Makes no network requests.',
    'Exits with code 0 if there are no findings, and with code 20 otherwise.',
  ].join('\n'),
  flags: {
    file: { ...filesFlag, required: true },
    rules: {
      effects: ['reads'],
      field: str(),
      summary: 'File with the rules (default: labels.lint.yaml next to the definitions)',
      value: 'file',
      complete: 'file',
    },
  },
  isCheck: true,
  examples: [{ line: 'opsctl labels lint -f labels/', says: 'Lint in CI' }],
  run: async (context, values) => {
    const { lintFiles, findingText } = await import('../../labels/lint.ts');
    const { findings, count } = await lintFiles(context, values.file, values.rules);
    const text =
      findings.length === 0
        ? `${countText(count, 'definition')}, no findings`
        : findings.map(findingText).join('\n');
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
  summary: 'Validate label definitions offline',
  about:
    'Reports every problem with file, line and column. Exits with code 0 if the files are valid, and with code 2 otherwise. Limits, locks and permissions depend on the service; `labels plan` checks them.',
  flags: { file: { ...filesFlag, required: true } },
  examples: [{ line: 'opsctl labels validate -f labels/', says: 'Validate in a pre-commit hook' }],
  run: async (context, values) => {
    const { loadDesiredLabels } = await import('../../labels/desired.ts');
    const { deploymentsWithValues } = await import('../../labels/values.ts');
    const deployments = await deploymentsWithValues(context, values.file);
    // Every deployment has its own values: each of them has to give a valid definition.
    const [first, ...more] = deployments.length === 0 ? [undefined] : deployments;
    const wishes = await loadDesiredLabels(context, values.file, { deployment: first });
    for (const deployment of more) await loadDesiredLabels(context, values.file, { deployment });
    const rows = wishes.map(({ source, wanted }) => ({ title: wanted.title, file: source, valid: true }));
    return rowsResult(rows, {
      columns: ['title', 'file'],
      name: 'title',
      message: `${countText(rows.length, 'definition is', 'definitions are')} valid`,
    });
  },
});

const flags = { admin: adminFlag } as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];
export const locks = labelCommand(
  defineCommand({
    path: ['labels', 'locks'],
    summary: 'Show the locks of a label as a tree',
    about:
      'A lock protects its component and everything inside it. A component that contains a locked component cannot be disabled or deleted. `labels locks list` prints the plain list.',
    args,
    flags,
    examples: [
      {
        line: 'opsctl labels locks Contract',
        says: 'Show the label, its fields and choices with their locks',
      },
    ],
    run: async (context, values) => {
      const { showLocks } = await import('../../labels/lock-file.ts');
      return showLocks(context, values.label, { admin: values.admin ?? false });
    },
  }),
);

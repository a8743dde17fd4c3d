import { labelsService } from '../../api-specs/labels/labels.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, oneOf, str } from '../../core/field.ts';
import type { Argument, Flags } from '../../core/flag.ts';
import { problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { shellWord } from '../../core/shell.ts';
import { labelCommand } from '../../labels/api-types.ts';
import { adminFlag, comparingFlags, comparingOptions, filesFlag, labelArgument } from './flags.ts';

export const apply = labelCommand(
  defineCommand({
    path: ['labels', 'apply'],
    readsBeforeWrites: true,
    summary: 'Apply label definition files',
    about: [
      'Reads label definitions (YAML or JSON, several documents and files, or a directory) and compares each with the service. Shows the difference (+ added, ~ renamed or changed, > moved, - disabled, x deleted, * published) and sends it as one atomic delta, pinned to the revision that was shown. A second run sends no changes.',
      '',
      'A missing key leaves the value unchanged; null, [] or false clears it. Fields and choices that a list omits are disabled, or deleted with --prune; drafts are deleted immediately.',
      'Checks limits, locks, permissions and frozen types before it sends a request.',
      '',
      'With labels.lock.yaml in the directory (see `opsctl labels adopt`), definitions keep their labels across renames and deployments. If others changed a label since the last apply, opsctl exits with code 10 until --take resolves the conflict.',
    ].join('\n'),
    flags: {
      file: filesFlag,
      plan: {
        effects: ['reads'],
        field: str(),
        summary: 'Apply exactly this plan of `labels plan`',
        value: 'plan.json',
        complete: 'file',
      },
      take: {
        field: oneOf('ours', 'theirs'),
        summary: 'Resolve drift: overwrite remote changes (ours) or update the files (theirs)',
        meanings: { ours: 'overwrite remote changes', theirs: 'update the files' },
      },
      force: { field: bool(), summary: 'Short for --take ours' },
      ...comparingFlags,
    },
    examples: [
      {
        line: 'opsctl labels apply -f contract.yaml --dry-run',
        says: 'Show the changes without applying them',
      },
      { line: 'opsctl labels apply -f contract.yaml --publish', says: 'Apply the changes and publish' },
      { line: 'opsctl labels apply --plan plan.json', says: 'Apply a reviewed plan' },
      {
        line: 'opsctl labels export Contract | opsctl labels apply -f -',
        says: 'Reapply an export, which sends no changes',
      },
    ],
    check: ({ file, plan, take, force }) => {
      if (plan !== undefined && (file ?? []).length > 0)
        return [problem('--plan', 'exclusive', 'cannot be combined with --file')];
      if (take === 'theirs' && force) return [problem('--force', 'exclusive', 'contradicts --take theirs')];
      return plan === undefined && (file ?? []).length === 0
        ? [problem('--file', 'required', 'is required', 'or --plan')]
        : [];
    },
    run: async (context, values) => {
      const { apply: run, applyResult } = await import('../../labels/plan-file.ts');
      const take = values.force ? 'ours' : values.take;
      const options = { ...comparingOptions(values), ...(take === undefined ? {} : { take }) };
      return applyResult(context, await run(context, values.plan, values.file ?? [], options));
    },
  }),
);

export const diff = labelCommand(
  defineCommand({
    path: ['labels', 'diff'],
    summary: 'Compare a draft with the published label, or files with the service',
    about: [
      'With a label, shows the changes of a publish. With --file, shows the changes of an apply and the remote changes since the last apply (drift). Exits with code 0 if there is no difference, and with code 20 otherwise.',
    ].join('\n'),
    args: [{ ...labelArgument, optional: true }],
    flags: {
      file: filesFlag,
      summary: {
        field: oneOf('text', 'markdown'),
        summary: 'Format of the file comparison; markdown suits pull requests (default text)',
      },
      ...comparingFlags,
    },
    isCheck: true,
    examples: [
      { line: "opsctl labels diff 'Project phase'", says: 'Show the changes of a publish' },
      {
        line: 'opsctl labels diff -f labels/',
        says: 'Check in CI; exit code 20 means that files and service differ',
      },
      {
        line: 'opsctl labels diff -f labels/ --summary markdown',
        says: 'Write a comment for a pull request',
      },
    ],
    check: ({ label, file }) => {
      const isOfFiles = (file ?? []).length > 0;
      if (label !== undefined && isOfFiles)
        return [problem('--file', 'exclusive', 'cannot be combined with a label')];
      return label === undefined && !isOfFiles
        ? [problem('<label>', 'required', 'is required', 'or --file')]
        : [];
    },
    run: async (context, values) => {
      const { label, file, summary } = values;
      if (label !== undefined) {
        const { diffDraft } = await import('../../labels/from-label.ts');
        return diffDraft(context, label, { admin: values.admin ?? false });
      }
      const engine = await import('../../labels/diff.ts');
      const found = await engine.diffFiles(context, file ?? [], comparingOptions(values));
      const exit = engine.isDifferent(found) ? ('no' as const) : undefined;
      const findings = () => engine.diffData(found).labels.map(engine.reportable);
      if (summary === 'markdown')
        return {
          kind: 'raw',
          chunks: [
            `${engine.diffMarkdown(found)}
`,
          ],
          view: { findings },
          ...(exit ? { exit } : {}),
        };
      return recordResult(
        engine.diffData(found),
        { text: engine.diffText(found), isProse: true, name: 'deployment', findings },
        exit,
      );
    },
  }),
);

export const plan = labelCommand(
  defineCommand({
    path: ['labels', 'plan'],
    summary: 'Save a reviewable plan of pending label changes',
    about: [
      'Compares label definitions with the service and makes no changes. With --out, saves the definitions, the edits and the revisions that they are pinned to. `labels apply --plan` applies exactly that plan, or fails with exit code 10 if a label has changed.',
    ].join('\n'),
    flags: {
      file: { ...filesFlag, required: true },
      out: {
        effects: ['writes'],
        field: str(),
        summary: 'File to write the plan to',
        value: 'plan.json',
        complete: 'file',
      },
      take: { field: oneOf('ours'), summary: 'Plan to undo remote changes since the last apply' },
      ...comparingFlags,
    },
    examples: [
      {
        line: 'opsctl labels plan -f labels/ --out plan.json',
        says: 'Plan in the pipeline of a pull request',
      },
      { line: 'opsctl labels apply --plan plan.json', says: 'Apply after the review' },
    ],
    run: async (context, values) => {
      const { planFiles, writePlan } = await import('../../labels/plan-file.ts');
      const options = {
        ...comparingOptions(values),
        ...(values.take === undefined ? {} : { take: values.take }),
      };
      const { plan: made, isChange, text } = await planFiles(context, values.file, options);
      if (values.out !== undefined) await writePlan(context, values.out, made);
      const where =
        values.out === undefined || !isChange
          ? ''
          : `\nto apply it: opsctl labels apply --plan ${shellWord(values.out)}`;
      return recordResult(made, { text: `${text}${where}`, isProse: true, name: 'digest' });
    },
  }),
);

const flags = {
  revision: { field: str(), summary: 'Fail unless this is the newest revision', value: 'number' },
  'language-code': { field: str(), summary: 'BCP-47 tag of the names in the response', value: 'text' },
  admin: adminFlag,
} as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];
export const publish = labelCommand(
  defineCommand({
    path: ['labels', 'publish'],
    summary: 'Publish all draft changes of a label',
    about: [
      'Shows the pending changes, asks for confirmation, and publishes exactly that revision. If another user changes the label in the meantime, opsctl shows the new difference instead of publishing.',
    ].join('\n'),
    args,
    flags,
    examples: [
      { line: "opsctl labels publish 'Project phase'", says: 'Show the changes, confirm and publish' },
      { line: "opsctl labels publish 'Project phase' --yes", says: 'Publish from a script' },
    ],
    operation: { service: labelsService, operation: labelsService.table.labels.publish },
    run: async (context, values) => {
      const { publishLabel } = await import('../../labels/publish.ts');
      const { revision, 'language-code': languageCode, admin = false } = values;
      return publishLabel(context, values.label, {
        admin,
        ...(revision === undefined ? {} : { revision }),
        ...(languageCode === undefined ? {} : { languageCode }),
      });
    },
  }),
);

const retireFlags = {
  title: { field: str(), summary: 'Title of the label, as confirmation', value: 'text' },
  admin: adminFlag,
} as const satisfies Flags;
export const retire = labelCommand(
  defineCommand({
    path: ['labels', 'retire'],
    summary: 'Permanently delete a label and its values on items',
    about: [
      'Shows the data that will be lost, and requires the title as confirmation (or --yes with --title). Disables the label if it is published, and deletes exactly the revision that was shown. Works with services that delete any label and with services that delete only disabled labels.',
    ].join('\n'),
    args,
    flags: retireFlags,
    examples: [{ line: 'opsctl labels retire Archive --yes --title Archive', says: 'Delete from a script' }],
    run: async (context, values) => {
      const { retireLabel } = await import('../../labels/publish.ts');
      return retireLabel(context, values.label, { admin: values.admin ?? false }, values.title);
    },
  }),
);

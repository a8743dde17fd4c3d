import { labelsService } from '../../api-specs/labels/index.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, oneOf, str } from '../../core/field.ts';
import type { Argument, Flags } from '../../core/flag.ts';
import { problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { labelCommand } from '../../labels/api-types.ts';
import { reportable } from '../../labels/diff-finding.ts';
import { adminFlag, comparingFlags, comparingOptions, filesFlag, labelArgument } from './flags.ts';

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
    summary: 'Compare the draft of a label with what is published, or files with the service',
    about: [
      'With a label: what a publish would change. With --file: what an apply would change, and what others changed in the service since the last apply (drift). Exit code 0: no difference. 20: there is one.',
    ].join('\n'),
    args: [{ ...labelArgument, optional: true }],
    flags: {
      file: filesFlag,
      summary: {
        field: oneOf('text', 'markdown'),
        summary: 'How the comparison of files is printed: markdown is for a pull request (default text)',
      },
      ...comparingFlags,
    },
    isCheck: true,
    examples: [
      { line: "opsctl labels diff 'Project phase'", says: 'What a publish would change' },
      { line: 'opsctl labels diff -f labels/', says: 'Check in CI: exit 20 when files and service differ' },
      { line: 'opsctl labels diff -f labels/ --summary markdown', says: 'A comment for a pull request' },
    ],
    check: ({ label, file }) => {
      const isOfFiles = (file ?? []).length > 0;
      if (label !== undefined && isOfFiles)
        return [problem('--file', 'exclusive', 'cannot be given together with a label')];
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
      const findings = () => engine.diffData(found).labels.map(reportable);
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
        { text: engine.diffText(found), name: 'deployment', findings },
        exit,
      );
    },
  }),
);

export const plan = labelCommand(
  defineCommand({
    path: ['labels', 'plan'],
    summary: 'Write down what an apply would send, for review',
    about: [
      'Compares label definitions with the service and changes nothing. With --out the plan goes into a file: the definitions, the edits and the revisions that they are pinned to. `labels apply --plan` sends exactly that, or nothing when a label changed meanwhile (exit 10).',
    ].join('\n'),
    flags: {
      file: { ...filesFlag, required: true },
      out: {
        effects: ['writes'],
        field: str(),
        summary: 'Write the plan into this file',
        value: 'plan.json',
        complete: 'file',
      },
      take: { field: oneOf('ours'), summary: 'Plan to undo what others changed since the last apply' },
      ...comparingFlags,
    },
    examples: [
      { line: 'opsctl labels plan -f labels/ --out plan.json', says: 'In the pipeline of a pull request' },
      { line: 'opsctl labels apply --plan plan.json', says: 'After the review' },
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
        values.out === undefined || !isChange ? '' : `\nto send it: opsctl labels apply --plan ${values.out}`;
      return recordResult(made, { text: `${text}${where}`, name: 'digest' });
    },
  }),
);

const flags = {
  revision: { field: str(), summary: 'Refuse unless this is the newest revision', value: 'number' },
  'language-code': { field: str(), summary: 'BCP-47 tag of the names in the answer', value: 'text' },
  admin: adminFlag,
} as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];
export const publish = labelCommand(
  defineCommand({
    path: ['labels', 'publish'],
    summary: 'Publish all draft changes of a label',
    about: [
      'Shows what is going to be published, asks, and publishes exactly the revision that was shown: when somebody changes the label in between, nothing is published and the new difference is shown.',
    ].join('\n'),
    args,
    flags,
    examples: [
      { line: "opsctl labels publish 'Project phase'", says: 'Show, ask, publish' },
      { line: "opsctl labels publish 'Project phase' --yes", says: 'From a script' },
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
  title: { field: str(), summary: 'The title, as the confirmation', value: 'text' },
  admin: adminFlag,
} as const satisfies Flags;
export const retire = labelCommand(
  defineCommand({
    path: ['labels', 'retire'],
    summary: 'Disable a label and delete it for good, with what it left on items',
    about: [
      'Says what disappears, wants the title typed (or --yes with --title), disables the label when it is published, and deletes the very revision that was shown. Works whether the service deletes any label or only disabled ones.',
    ].join('\n'),
    args,
    flags: retireFlags,
    examples: [{ line: 'opsctl labels retire Archive --yes --title Archive', says: 'From a script' }],
    run: async (context, values) => {
      const { retireLabel } = await import('../../labels/publish.ts');
      return retireLabel(context, values.label, { admin: values.admin ?? false }, values.title);
    },
  }),
);

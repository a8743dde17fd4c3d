import { codeSpan, escapeHtml, escapeMarkdown, fencedMarkdown, oneLine } from '../core/text.ts';
import { countText as countNoun } from '../core/format.ts';
import type { CheckFinding } from '../core/result.ts';
import type { EngineContext } from '../api/context.ts';
import { prepareFiles } from './apply.ts';
import { type Drift, driftText } from './drift.ts';
import { authorLines, changeRows, definedLabels, driftRow, permissionLines } from './outcome.ts';
import { isIdle } from './plan.ts';
import {
  changesPermissions,
  listLostDrift,
  type Options,
  type PlannedLabel,
  type Session,
} from './prepare.ts';
import { absolute } from './read-files.ts';
import { changesText } from './definition.ts';

/**
 * `drifted`: another user changed values that the file defines; `changed`: the file has other differences;
 * `new`: the label does not exist yet.
 */
type DiffStatus = 'same' | 'changed' | 'new' | 'drifted';
type LabelDiff = {
  readonly prepared: PlannedLabel;
  readonly status: DiffStatus;
};
export type FilesDiff = {
  readonly deployment: string;
  readonly labels: readonly LabelDiff[];
  /** Labels of the lock file that no definition stands for any more. */
  readonly orphans: readonly { readonly key: string; readonly id: string; readonly title: string }[];
};

/** A draft part that the file disables differs from the file, although there is no request to send yet. */
const isSame = (prepared: PlannedLabel): boolean =>
  isIdle(prepared.plan) && prepared.plan.pending.length === 0 && !changesPermissions(prepared);

const statusOf = (prepared: PlannedLabel): DiffStatus => {
  if (listLostDrift(prepared).length > 0) return 'drifted';
  if (isSame(prepared)) return 'same';
  return prepared.live === undefined ? 'new' : 'changed';
};

const orphansOf = (session: Session, prepared: readonly PlannedLabel[]): FilesDiff['orphans'] => {
  const bound = new Set(prepared.map(({ entry }) => `${entry?.directory}/${entry?.key}`));
  const defined = definedLabels(prepared);
  return [...session.locks].flatMap(([directory, lock]) =>
    Object.entries(lock?.labels ?? {}).flatMap(([key, { deployments }]) => {
      const here = deployments[session.deployment];
      return here === undefined || defined.has(here.id) || bound.has(`${directory}/${key}`)
        ? []
        : [{ key, id: here.id, title: here.title }];
    }),
  );
};

/** Only a whole directory shows which definitions were removed. */
const areWhole = async (context: EngineContext, files: readonly string[]): Promise<boolean> => {
  for (const file of files) {
    const info = await context.host.files.info(absolute(context, file));
    if (info?.kind !== 'directory') return false;
  }
  return true;
};

export const diffFiles = async (
  context: EngineContext,
  files: readonly string[],
  options: Options,
): Promise<FilesDiff> => {
  const { session, prepared } = await prepareFiles(context, files, options);
  return {
    deployment: session.deployment,
    labels: prepared.map((one) => ({ prepared: one, status: statusOf(one) })),
    orphans: (await areWhole(context, files)) ? orphansOf(session, prepared) : [],
  };
};

export const isDifferent = ({ labels }: FilesDiff): boolean => labels.some(({ status }) => status !== 'same');

/** As data for scripts: the file's changes and the drift stand apart. */
export const diffData = ({ deployment, labels, orphans }: FilesDiff) => ({
  deployment,
  labels: labels.map(({ prepared, status }) => ({
    file: prepared.wish.source,
    title: prepared.wanted.title,
    key: prepared.entry?.key ?? null,
    id: prepared.live?.id ?? null,
    revision: prepared.live?.revisionId ?? null,
    applied_revision: prepared.base?.revision ?? null,
    status,
    changes: changeRows(prepared),
    drift: prepared.drift.map(driftRow),
    ...(prepared.authors === undefined ? {} : { changed_by: prepared.authors }),
    problems: prepared.plan.problems,
    notes: prepared.plan.notes,
  })),
  orphans,
});

const heading = ({ prepared, status }: LabelDiff): string => {
  const { wanted, live, wish } = prepared;
  const name = live === undefined ? '' : ` (labels/${live.id}, revision ${live.revisionId})`;
  return `label ${wanted.title}${name}, ${wish.source}: ${status}`;
};

const driftLine = (drift: Drift): string =>
  `  ! changed in the service: ${driftText(drift)}${drift.isLost ? '' : ' (the file has it as well)'}`;

const bodyLines = ({ prepared }: LabelDiff): string[] => [
  ...prepared.drift.map(driftLine),
  ...authorLines(prepared),
  ...(prepared.plan.changes.length === 0 ? [] : changesText(prepared.plan.changes).split('\n')),
  ...(prepared.permissions !== undefined && changesPermissions(prepared)
    ? permissionLines(prepared.permissions.plan)
    : []),
  ...prepared.plan.problems.map((one) => `  fail: ${one.path} ${one.message}`),
  ...prepared.plan.notes.map((note) => `  note: ${note}`),
];

const orphanLine = ({ id, title }: FilesDiff['orphans'][number]): string =>
  `label ${title} (labels/${id}) has no definition file any more; to delete it: opsctl labels retire labels/${id}`;

const countText = ({ labels }: FilesDiff): string => {
  const count = (status: DiffStatus): number => labels.filter((one) => one.status === status).length;
  const parts = (['new', 'changed', 'drifted', 'same'] as const)
    .map((status) => ({ status, n: count(status) }))
    .filter(({ n }) => n > 0);
  return parts.map(({ status, n }) => `${n} ${status}`).join(', ');
};

export const diffText = (diff: FilesDiff): string =>
  [
    ...diff.labels.flatMap((one) =>
      one.status === 'same' && one.prepared.plan.notes.length === 0 ? [] : [heading(one), ...bodyLines(one)],
    ),
    ...diff.orphans.map(orphanLine),
    `${diff.deployment}: ${countText(diff)}`,
  ].join('\n');

/** For a comment on a pull request. */
export const diffMarkdown = (diff: FilesDiff): string => {
  const rows = diff.labels.map(
    ({ prepared, status }) =>
      `| ${escapeMarkdown(prepared.wanted.title)} | ${escapeMarkdown(prepared.wish.source)} | ${status} | ${prepared.plan.changes.length} | ${listLostDrift(prepared).length} |`,
  );
  const details = diff.labels.flatMap((one) =>
    one.status === 'same'
      ? []
      : [
          `<details><summary>${escapeHtml(oneLine(one.prepared.wanted.title))}</summary>`,
          '',
          ...fencedMarkdown('diff', bodyLines(one).map(diffLine)),
          '',
          '</details>',
          '',
        ],
  );
  return [
    `### Labels: ${countText(diff)}`,
    '',
    `Compared with ${codeSpan(diff.deployment)}.`,
    '',
    '| label | file | status | changes | undone by the file |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...details,
    ...diff.orphans.map((one) => `- ${escapeMarkdown(orphanLine(one))}`),
  ].join('\n');
};

/** Marks that pages color: + added, - taken away, ! everything else. */
const diffLine = (line: string): string => {
  const [, mark = ' ', rest = line] = /^ {2}(\S) (.*)$/.exec(line) ?? [];
  const as = mark === '+' ? '+' : mark === '-' || mark === 'x' ? '-' : mark === ' ' ? ' ' : '!';
  return `${as} ${rest.trim()}`;
};
/** A label that differs is a failure at its file. */
export const reportable = ({
  title,
  file,
  status,
  changes,
  drift,
}: ReturnType<typeof diffData>['labels'][number]): CheckFinding => ({
  rule: status === 'drifted' ? 'drift' : 'difference',
  level: status === 'same' ? 'pass' : 'fail',
  subject: title,
  file,
  message:
    status === 'same'
      ? `${title} matches the file`
      : `${title} is ${status}: ${countNoun(changes.length, 'change')}, ${drift.length} made by others`,
});

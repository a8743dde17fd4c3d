import { AppError } from '../core/problem.ts';
import { type Result, recordResult } from '../core/result.ts';
import { labelsService } from '../api-specs/labels/index.ts';
import type { Context } from '../cli/command.ts';
import { pinned } from './revision.ts';
import { liveFrom } from './from-label.ts';
import { labelText } from './label-text.ts';
import { changesText } from './text.ts';
import type { LabelJson } from './api-types.ts';
import type { Asking } from './read-labels.ts';
import { type Compared, compare, unpublished } from './compare.ts';

const isDisabled = ({ draft }: Compared): boolean => draft.state === 'DISABLED';
const hasNothing = ({ draft, published }: Compared): boolean =>
  published !== undefined && published.revisionId === draft.revisionId;

const refuseDisabled = (seen: Compared): void => {
  if (!isDisabled(seen)) return;
  throw new AppError(
    'unsafe',
    `label ${seen.draft.title} is disabled: enable it before its changes are published; nothing was changed`,
    {
      code: 'DISABLED',
      tryThis: [`opsctl labels enable ${seen.name}`],
    },
  );
};

const refuseOther = (seen: Compared, wanted: string | undefined): void => {
  if (wanted === undefined || wanted === seen.draft.revisionId) return;
  throw new AppError(
    'unsafe',
    `the newest revision of label ${seen.draft.title} is ${seen.draft.revisionId}, not ${wanted}; nothing was published`,
    {
      code: 'CHANGED_MEANWHILE',
      tryThis: [`opsctl labels diff ${seen.name}`],
      data: { label: seen.name, seen_revision: wanted, revision: seen.draft.revisionId },
    },
  );
};

/** Nothing to publish is no failure: the answer is the label, as after a publish. */
const asItIs = (context: Context, { label, draft }: Compared): Result => {
  context.log.info(`label ${draft.title}: nothing to publish (revision ${draft.revisionId} is published)`);
  return recordResult(label, { text: labelText(label) });
};

export type PublishOptions = Asking & { readonly revision?: string; readonly languageCode?: string };

/** Shows what is going to be published, asks, and publishes exactly the revision that was shown. */
export const publishLabel = async (
  context: Context,
  typed: string,
  asking: PublishOptions,
): Promise<Result> => {
  const seen = await compare(context, typed, asking);
  const { name, draft } = seen;
  refuseOther(seen, asking.revision);
  if (hasNothing(seen)) return asItIs(context, seen);
  refuseDisabled(seen);
  context.log.info(
    `label ${draft.title} (${name}), revision ${draft.revisionId}, will be published:\n${changesText(seen.changes)}`,
  );
  if (!context.isDryRun)
    await context.confirm(`Publish revision ${draft.revisionId} of label ${draft.title}?`);
  const body = {
    writeControl: { requiredRevisionId: draft.revisionId },
    ...(asking.admin ? { useAdminAccess: true } : {}),
    ...(asking.languageCode === undefined ? {} : { languageCode: asking.languageCode }),
  };
  const since = (now: LabelJson) => changesText(unpublished(liveFrom(now), draft));
  const again = `opsctl labels diff ${name}`;
  const write = () =>
    context.call(labelsService, labelsService.table.labels.publish, { params: { name }, body });
  const label = (await pinned(
    context,
    { name, title: draft.title, revisionId: draft.revisionId, asking },
    again,
    since,
    write,
  )) as LabelJson;
  return recordResult(label, {
    text: `published:\n${labelText(label)}`,
    name: 'name',
    message: `label ${draft.title} published as revision ${label.revisionId}`,
  });
};

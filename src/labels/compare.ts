import type { CheckFinding } from '../core/finding.ts';
import { AppError } from '../core/problem.ts';
import { type Result, recordResult } from '../core/result.ts';
import type { Context } from '../cli/command.ts';
import type { Change } from './change.ts';
import type { LiveLabel } from './definition.ts';
import { definitionOf, liveFrom } from './from-label.ts';
import { planFrom } from './plan.ts';
import { changeRow, changesText } from './text.ts';
import type { LabelJson } from './api-types.ts';
import { type Asking, getLabel } from './read-labels.ts';
import { withLabel } from './resolve-label.ts';

/** A label with its draft and what is published. */
export type Compared = {
  readonly name: string;
  /** The newest revision as the service gave it. */
  readonly label: LabelJson;
  readonly draft: LiveLabel;
  readonly published: LiveLabel | undefined;
  readonly changes: readonly Change[];
};

/** What is not published yet: every part of a label that never was, else the edits that lead from there to the draft. Pure. */
export const unpublished = (draft: LiveLabel, published: LiveLabel | undefined): readonly Change[] => {
  // Disabled, enabled and deleted in the draft are states there, and the plan from one to the other has them as such.
  const { state: _, copyMode: __, enabledApps: ___, ...content } = definitionOf(draft);
  return planFrom(content, published, { prune: true }).changes;
};

const publishedOf = async (
  context: Context,
  name: string,
  asking: Asking,
): Promise<LiveLabel | undefined> => {
  try {
    return liveFrom(await getLabel(context, `${name}@published`, asking));
  } catch (error) {
    if (error instanceof AppError && error.category === 'not-found') return undefined;
    throw error;
  }
};

export const compare = (context: Context, typed: string, asking: Asking): Promise<Compared> =>
  withLabel(context, typed, asking, async (found) => {
    const [name = ''] = found.split('@');
    const label = await getLabel(context, name, asking);
    const draft = liveFrom(label);
    const published = await publishedOf(context, name, asking);
    return { name, label, draft, published, changes: unpublished(draft, published) };
  });

/** Each change that is not published is one failed finding. */
const draftFindings = (title: string, changes: readonly Change[]): CheckFinding[] =>
  changes.length === 0
    ? [{ rule: 'unpublished', level: 'pass', subject: title, message: `${title} has no unpublished change` }]
    : changes.map((change) => ({
        ...{ rule: 'unpublished', level: 'fail', subject: title, message: changesText([change]).trim() },
      }));

export const diffDraft = async (context: Context, typed: string, asking: Asking): Promise<Result> => {
  const { name, draft, published, changes } = await compare(context, typed, asking);
  const data = {
    label: name,
    title: draft.title,
    published_revision: published?.revisionId ?? null,
    draft_revision: draft.revisionId === published?.revisionId ? null : draft.revisionId,
    changes: changes.map(changeRow),
  };
  const from = published === undefined ? 'never published' : `published revision ${published.revisionId}`;
  const text = `label ${draft.title}: ${from}, newest revision ${draft.revisionId}\n${changesText(changes)}`;
  const findings = () => draftFindings(draft.title, changes);
  return recordResult(data, { text, name: 'label', findings }, changes.length > 0 ? 'no' : undefined);
};

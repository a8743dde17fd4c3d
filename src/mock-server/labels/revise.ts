import { constraints } from './constraints.ts';
import type { FieldRecord, LabelRecord, Policy, Revision } from './state.ts';

/** Who makes a revision, and when. */
export type Maker = { readonly caller: string; readonly now: number };
/** The label that refers to new revisions, and those revisions. Pure: nothing is stored here. */
export type Revised = { readonly label: LabelRecord; readonly revisions: readonly Revision[] };

/** Earlier published revisions that are kept; spec/labels#lifecycle: "may be purged automatically". */
const MAX_PAST = 20;

const made = (revision: Revision, id: number, { caller, now }: Maker): Revision => ({
  ...structuredClone(revision),
  id: String(id),
  revisionCreateTime: now,
  revisionCreator: caller,
});

/** A draft after the newest one. spec/labels#lifecycle: maxDraftRevisions caps kept drafts, the oldest go. */
export const draftAfter = (label: LabelRecord, content: Revision, maker: Maker): Revised => {
  const counter = label.counter + 1;
  const revision = made(content, counter, maker);
  const drafts = [...label.drafts, revision.id].slice(-constraints.maxDraftRevisions);
  return { label: { ...label, counter, drafts }, revisions: [revision] };
};

const publishPart = <T extends { state: string; publishTime?: number; publisher?: string }>(
  part: T,
  { caller, now }: Maker,
): void => {
  if (part.state !== 'UNPUBLISHED_DRAFT') return;
  part.state = 'PUBLISHED';
  part.publishTime = now;
  part.publisher = caller;
};
const publishFields = (fields: FieldRecord[], maker: Maker): void => {
  for (const field of fields) {
    publishPart(field, maker);
    for (const choice of field.choices) publishPart(choice, maker);
  }
};

const past = (label: LabelRecord): string[] =>
  (label.published === undefined ? [...label.past] : [...label.past, label.published]).slice(-MAX_PAST);

/** spec/labels#lifecycle-2: all draft changes. spec/labels#lifecycle: earlier drafts go, earlier published revisions stay. */
export const published = (label: LabelRecord, draft: Revision, maker: Maker): Revised => {
  const counter = label.counter + 1;
  const revision = made(draft, counter, maker);
  publishFields(revision.fields, maker);
  revision.state = 'PUBLISHED';
  revision.publishTime = maker.now;
  revision.publisher = maker.caller;
  return {
    label: { ...label, counter, published: revision.id, drafts: [], past: past(label) },
    revisions: [revision],
  };
};

type Switch = (revision: Revision) => void;
/** spec/labels#lifecycle: one revision made of the published one and, with open drafts, one more made of the newest of them; older drafts go. */
const switched = (
  label: LabelRecord,
  current: Revision,
  draft: Revision | undefined,
  maker: Maker,
  change: Switch,
): Revised => {
  const main = made(current, label.counter + 1, maker);
  change(main);
  if (draft === undefined)
    return {
      label: { ...label, counter: label.counter + 1, published: main.id, drafts: [], past: past(label) },
      revisions: [main],
    };
  const open = made(draft, label.counter + 2, maker);
  change(open);
  return {
    label: { ...label, counter: label.counter + 2, published: main.id, drafts: [open.id], past: past(label) },
    revisions: [main, open],
  };
};

export const disabled = (
  label: LabelRecord,
  current: Revision,
  draft: Revision | undefined,
  policy: Policy | undefined,
  maker: Maker,
): Revised =>
  switched(label, current, draft, maker, (revision) => {
    revision.state = 'DISABLED';
    revision.policy = policy;
    revision.disableTime = maker.now;
    revision.disabler = maker.caller;
  });

export const enabled = (
  label: LabelRecord,
  current: Revision,
  draft: Revision | undefined,
  maker: Maker,
): Revised =>
  switched(label, current, draft, maker, (revision) => {
    revision.state = 'PUBLISHED';
    revision.policy = undefined;
    revision.disableTime = undefined;
    revision.disabler = undefined;
  });

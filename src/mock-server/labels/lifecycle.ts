import { type LabelError, failed } from './errors.ts';
import type { LabelRecord, Revision } from './state.ts';

/** Where a label stands: its published state, and whether drafts are newer. */
export type Standing = 'draft' | 'published' | 'published+draft' | 'disabled' | 'disabled+draft';
export type Action = 'delta' | 'publish' | 'disable' | 'enable' | 'delete';

type Transition = {
  readonly cites: string;
  /** From a standing to the next one; a standing that is missing refuses the action. */
  readonly from: Readonly<Partial<Record<Standing, Standing | 'deleted'>>>;
};

/** spec/labels#lifecycle, refined by spec/labels#lifecycle. */
const transitions: Readonly<Record<Action, Transition>> = {
  delta: {
    cites: 'spec/labels#lifecycle-1',
    from: {
      draft: 'draft',
      published: 'published+draft',
      'published+draft': 'published+draft',
      disabled: 'disabled+draft',
      'disabled+draft': 'disabled+draft',
    },
  },
  publish: {
    cites: 'spec/labels#lifecycle-2',
    from: { draft: 'published', 'published+draft': 'published' },
  },
  disable: {
    cites: 'spec/labels#lifecycle-3',
    from: { published: 'disabled', 'published+draft': 'disabled+draft' },
  },
  enable: {
    cites: 'spec/labels#lifecycle-4',
    from: { disabled: 'published', 'disabled+draft': 'published+draft' },
  },
  delete: {
    cites: 'spec/labels#lifecycle-5',
    from: {
      draft: 'deleted',
      published: 'deleted',
      'published+draft': 'deleted',
      disabled: 'deleted',
      'disabled+draft': 'deleted',
    },
  },
};

export const standingOf = (label: LabelRecord, published: Revision | undefined): Standing => {
  if (published === undefined) return 'draft';
  const base = published.state === 'DISABLED' ? 'disabled' : 'published';
  return label.drafts.length > 0 ? `${base}+draft` : base;
};

const why: Readonly<Record<Action, string>> = {
  delta: 'cannot be edited',
  publish: 'has no draft changes that could be published',
  disable: 'can be disabled only when it is published and enabled',
  enable: 'can be enabled only when it is disabled',
  delete: 'cannot be deleted',
};

/** Refuses every arrow that is not in the table. Undefined when the action is legal. */
export const illegal = (action: Action, standing: Standing, label: string): LabelError | undefined => {
  if (transitions[action].from[standing] !== undefined) return undefined;
  const because =
    action === 'publish' && standing === 'disabled+draft'
      ? 'is disabled; enable it before its changes are published'
      : why[action];
  const reason =
    action === 'publish' && !standing.endsWith('draft') ? 'NOTHING_TO_PUBLISH' : 'ILLEGAL_TRANSITION';
  return failed(
    reason,
    `labels/${label}`,
    `Label ${label} is ${standing.replace('+', ' with ')}: it ${because}.`,
  );
};

/** spec/labels#lifecycle "CONFLICT": the document deletes from any state; real services want a published label disabled first. */
export const mustBeDisabledFirst = (
  policy: 'any' | 'disabled-first',
  standing: Standing,
  label: string,
): LabelError | undefined =>
  policy === 'disabled-first' && standing.startsWith('published')
    ? failed(
        'MUST_BE_DISABLED',
        `labels/${label}`,
        `Label ${label} is published: disable it before it is deleted.`,
      )
    : undefined;

/** spec/labels#parameters: writeControl.requiredRevisionId must equal the latest revision id, else 400 and nothing happens. */
export const revisionIsLatest = (required: unknown, latest: string, label: string): LabelError | undefined =>
  typeof required === 'string' && required !== '' && required !== latest
    ? failed(
        'REVISION_MISMATCH',
        `labels/${label}`,
        `The required revision ${required} is not the latest revision ${latest} of label ${label}: it was changed meanwhile.`,
      )
    : undefined;

export const refuse = (...findings: readonly (LabelError | undefined)[]): void => {
  for (const found of findings) if (found !== undefined) throw found;
};

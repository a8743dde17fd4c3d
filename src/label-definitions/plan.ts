import { type Problem, problem } from '../core/problem.ts';
import { type Change, descriptionText } from './change.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import { waitsForPublish } from './choice-steps.ts';
import { describe, fieldJson, fieldSteps } from './field-steps.ts';
import type { EditJson } from './api-types.ts';

/** What it takes to make the service's label that of the file. Pure data: shown, checked, then sent. */
export type Plan = {
  readonly action: 'create' | 'update' | 'none';
  readonly title: string;
  readonly id?: string;
  /** The revision that was looked at; the delta is pinned to it. */
  readonly revisionId?: string;
  readonly changes: readonly Change[];
  /** One atomic delta. */
  readonly edits: readonly EditJson[];
  /** The body of a new label. */
  readonly create?: Readonly<Record<string, unknown>>;
  /** Not part of a revision; set with calls of their own. */
  readonly copyMode?: string;
  readonly enabledApps?: readonly string[];
  /** Why it must not be sent. */
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
};
export type PlanOptions = {
  /** Parts that are missing in the file are deleted; disabled otherwise. */
  readonly prune: boolean;
};

const createPlan = (wanted: LabelDef): Plan => {
  const { title, description, type, learnMoreUri, copyMode, enabledApps, fields } = wanted;
  const create = {
    labelType: type,
    properties: { title, ...(description === undefined ? {} : { description }) },
    ...(learnMoreUri === undefined ? {} : { learnMoreUri }),
    ...(enabledApps === undefined || enabledApps.length === 0
      ? {}
      : { enabledAppSettings: { enabledApps: enabledApps.map((app) => ({ app })) } }),
    fields: fields.map((field) => fieldJson(field)),
  };
  const parts = fields.flatMap((field) => [
    ...(field.disabled ? [`field ${field.name}`] : []),
    ...field.choices.filter((c) => c.disabled).map((c) => `choice ${c.name} of field ${field.name}`),
  ]);
  return {
    action: 'create',
    title,
    changes: [
      { kind: 'added', what: `label ${title}`, detail: type, part: {} },
      ...fields.map(
        (field): Change => ({
          kind: 'added',
          what: `field ${field.name}`,
          detail: describe(field),
          part: {},
        }),
      ),
    ],
    edits: [],
    create,
    ...(copyMode === undefined || copyMode === 'DO_NOT_COPY' ? {} : { copyMode }),
    problems:
      type === 'SHARED' || type === 'ADMIN'
        ? []
        : [problem('type', 'enum', `must be SHARED or ADMIN to be created; got ${type}`)],
    notes: parts.map(waitsForPublish),
  };
};

const labelEdit = (wanted: LabelDef, live: LiveLabel): { changes: Change[]; edits: EditJson[] } => {
  const changes: Change[] = [];
  const mask: string[] = [];
  if (wanted.title !== live.title) {
    changes.push({ kind: 'renamed', what: `label ${wanted.title}`, detail: `from ${live.title}`, part: {} });
    mask.push('title');
  }
  if ((wanted.description ?? '') !== (live.description ?? '')) {
    changes.push({
      kind: 'changed',
      what: `label ${wanted.title}`,
      detail: descriptionText(live.description, wanted.description),
      part: {},
    });
    mask.push('description');
  }
  if (mask.length === 0) return { changes, edits: [] };
  const all = { title: wanted.title, description: wanted.description ?? '' };
  const properties = Object.fromEntries(Object.entries(all).filter(([key]) => mask.includes(key)));
  return { changes, edits: [{ updateLabel: { properties, updateMask: mask.join(',') } }] };
};

/** The service sets these once and has no request that changes them. */
const fixed = (wanted: LabelDef, live: LiveLabel): Problem[] => [
  ...(wanted.type === live.type
    ? []
    : [problem('type', 'rule', `is ${live.type} and cannot become ${wanted.type}`)]),
  ...((wanted.learnMoreUri ?? live.learnMoreUri) === live.learnMoreUri
    ? []
    : [problem('learnMoreUri', 'rule', 'can be set only when a label is created')]),
];

const sameApps = (a: readonly string[], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((app) => b.includes(app));

const updatePlan = (wanted: LabelDef, live: LiveLabel, { prune }: PlanOptions): Plan => {
  const label = labelEdit(wanted, live);
  const fields = fieldSteps(wanted.fields, live.fields, prune);
  const copyMode =
    wanted.copyMode !== undefined && wanted.copyMode !== live.copyMode ? wanted.copyMode : undefined;
  const enabledApps =
    wanted.enabledApps !== undefined && !sameApps(wanted.enabledApps, live.enabledApps)
      ? wanted.enabledApps
      : undefined;
  const atOnce = (detail: string): Change => ({
    kind: 'changed',
    what: `label ${wanted.title}`,
    detail: `${detail} (at once, without a revision)`,
    part: {},
  });
  const changes = [
    ...label.changes,
    ...fields.steps.flatMap((step) => step.changes),
    ...(copyMode === undefined ? [] : [atOnce(`copy mode ${copyMode}`)]),
    ...(enabledApps === undefined ? [] : [atOnce(`enabled apps ${enabledApps.join(', ') || 'none'}`)]),
  ];
  return {
    action: changes.length === 0 ? 'none' : 'update',
    title: wanted.title,
    id: live.id,
    revisionId: live.revisionId,
    changes,
    edits: [...label.edits, ...fields.steps.map((step) => step.edit)],
    copyMode,
    enabledApps,
    problems: [...fixed(wanted, live), ...fields.problems],
    notes: fields.notes,
  };
};

/** What a file asks for, given the label as the service has it now (undefined: there is none). Pure. */
export const planFrom = (wanted: LabelDef, live: LiveLabel | undefined, options: PlanOptions): Plan =>
  live === undefined ? createPlan(wanted) : updatePlan(wanted, live, options);

import { type Problem, problem } from '../core/problem.ts';
import type { EditJson } from './api-types.ts';
import {
  type Change,
  descriptionText,
  isSamePolicy,
  type DefinedState,
  type LabelDef,
  type LiveLabel,
} from './definition.ts';
import { describe, fieldJson, fieldSteps, newChoicesDisabled } from './plan-fields.ts';

export type Transition = 'publish' | 'enable' | 'disable';
type Asked = {
  /** Of a label that exists. */
  readonly hasEdits?: boolean;
  readonly deferred: readonly string[];
  readonly publish: boolean;
};
export type StatePlan = {
  readonly transitions: readonly Transition[];
  readonly changes: readonly Change[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
  readonly deferred: readonly string[];
  /** Parts that wait for a publish by a later apply. */
  readonly pending: readonly string[];
};
const waitsForPublish = (name: string): string =>
  `${name} is a draft: it can be disabled only after it was published; apply the file again then`;
/** spec/labels#lifecycle: a published label never becomes a draft again. */
const cannotBeDraft = (live: LiveLabel): Problem =>
  problem(
    'state',
    'rule',
    `label ${live.title} was published and cannot become a draft again`,
    'remove `state`, or write published or disabled',
  );
/** spec/labels#lifecycle-2: publish leads from draft to published; a disabled label is enabled first. */
const disabledProblem = (live: LiveLabel): Problem =>
  problem(
    'state',
    'rule',
    `label ${live.title} is disabled, so --publish cannot publish its changes`,
    'write `state: published` in the file, or enable the label first',
  );
const contradicts = (): Problem =>
  problem('state', 'rule', 'is draft, which contradicts --publish', 'leave one of them out');
const isPending = (live: LiveLabel, { hasEdits }: Asked): boolean =>
  hasEdits === true || live.hasUnpublishedChanges || live.state === 'UNPUBLISHED_DRAFT';
const toPublished = (live: LiveLabel | undefined, asked: Asked): Transition[] => {
  if (live === undefined) return ['publish'];
  const publish: Transition[] = isPending(live, asked) ? ['publish'] : [];
  return live.state === 'DISABLED' ? ['enable', ...publish] : publish;
};
const toDisabled = (wanted: LabelDef, live: LiveLabel | undefined, asked: Asked): Transition[] => {
  if (live === undefined) return ['publish', 'disable'];
  if (live.state !== 'DISABLED') return isPending(live, asked) ? ['publish', 'disable'] : ['disable'];
  const { disabledPolicy } = wanted;
  const isOther =
    disabledPolicy !== undefined &&
    !isSamePolicy(disabledPolicy, live.disabledPolicy ?? { hideInSearch: false, showInApply: false });
  // Only a published label can be disabled, so another policy means enabling it first.
  return isOther ? ['enable', 'disable'] : [];
};
const transitionsTo = (
  state: DefinedState | undefined,
  wanted: LabelDef,
  live: LiveLabel | undefined,
  asked: Asked,
): Transition[] => {
  switch (state) {
    case 'published':
      return toPublished(live, asked);
    case 'disabled':
      return toDisabled(wanted, live, asked);
    default:
      return [];
  }
};
const problemsOf = (wanted: LabelDef, live: LiveLabel | undefined, asked: Asked): Problem[] => {
  if (wanted.state === 'draft') {
    if (asked.publish) return [contradicts()];
    return live === undefined || live.state === 'UNPUBLISHED_DRAFT' ? [] : [cannotBeDraft(live)];
  }
  const isRefused = wanted.state === undefined && asked.publish && live?.state === 'DISABLED';
  return isRefused && isPending(live, asked) ? [disabledProblem(live)] : [];
};
const changeOf = (transition: Transition, what: string): Change => {
  switch (transition) {
    case 'publish':
      return { kind: 'published', what, part: {} };
    case 'enable':
      return { kind: 'enabled', what, part: {} };
    case 'disable':
      return { kind: 'disabled', what, part: {}, takesAway: true };
  }
};
/**
 * Publishing includes all pending changes, not only the changes of this file. The plan reports this in
 * advance.
 */
const waiting = (live: LiveLabel | undefined, transitions: readonly Transition[]): string[] =>
  live &&
  transitions.includes('publish') &&
  (live.hasUnpublishedChanges || live.state === 'UNPUBLISHED_DRAFT')
    ? [`revision ${live.revisionId} has changes that are not published yet; they are published as well`]
    : [];
const keptAsDraft = (
  state: DefinedState | undefined,
  live: LiveLabel | undefined,
  { hasEdits }: Asked,
): string[] =>
  state === 'disabled' && live?.state === 'DISABLED' && hasEdits
    ? ['the label stays disabled: its changes are kept as a draft until it is enabled']
    : [];
/** A comparison with the draft must not hide that users see an earlier revision. */
const shownEarlier = (state: DefinedState | undefined, live: LiveLabel | undefined): string[] =>
  state === undefined && live?.state === 'PUBLISHED' && live.hasUnpublishedChanges
    ? [
        `users see an earlier revision: revision ${live.revisionId} is a draft until it is published (--publish)`,
      ]
    : [];
/** How a label gets into the state that the file or --publish asks for. Absent is untouched. Pure. */
export const statePlan = (wanted: LabelDef, live: LiveLabel | undefined, asked: Asked): StatePlan => {
  const byFlag = asked.publish && live?.state !== 'DISABLED' ? 'published' : undefined;
  const state = wanted.state ?? byFlag;
  const transitions = transitionsTo(state, wanted, live, asked);
  const what = `label ${wanted.title}`;
  const isPublishing = transitions.includes('publish');
  const lines = wanted.state === undefined ? [] : transitions.map((one) => changeOf(one, what));
  return {
    transitions,
    changes: [
      ...lines,
      ...(isPublishing
        ? asked.deferred.map(
            (part): Change => ({ kind: 'disabled', what: part, detail: 'after it was published', part: {} }),
          )
        : []),
    ],
    problems: problemsOf(wanted, live, asked),
    notes: [
      ...waiting(live, transitions),
      ...keptAsDraft(state, live, asked),
      ...shownEarlier(state, live),
      ...(isPublishing ? [] : asked.deferred.map(waitsForPublish)),
    ],
    deferred: isPublishing ? asked.deferred : [],
    pending: isPublishing ? [] : asked.deferred,
  };
};

/** What it takes to make the service's label that of the file. Pure data: shown, checked, then sent. */
export type Plan = {
  readonly action: 'create' | 'update' | 'none';
  readonly title: string;
  readonly id?: string;
  /** The reviewed revision, to which the delta is pinned. */
  readonly revisionId?: string;
  readonly changes: readonly Change[];
  /** One atomic delta. */
  readonly edits: readonly EditJson[];
  /** The body of a new label. */
  readonly create?: Readonly<Record<string, unknown>>;
  /** Not part of a revision; set with separate calls. */
  readonly copyMode?: string;
  readonly enabledApps?: readonly string[];
  /** Publish, disable, enable: after the edits, in this order. */
  readonly transitions: readonly Transition[];
  /** Parts that are disabled by a second delta, once they were published. */
  readonly deferred: readonly string[];
  /** Parts that the file disables, but that can be disabled only by an apply after their first publish. */
  readonly pending: readonly string[];
  /** Why it must not be sent. */
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
};
export type PlanOptions = {
  /** Parts that are missing in the file are deleted; disabled otherwise. */
  readonly prune: boolean;
  /** Publish labels for which the file defines no state. */
  readonly publish?: boolean;
};
const createBody = (wanted: LabelDef) => ({
  labelType: wanted.type ?? 'SHARED',
  properties: {
    title: wanted.title,
    ...(wanted.description ? { description: wanted.description } : {}),
  },
  ...(wanted.learnMoreUri === undefined ? {} : { learnMoreUri: wanted.learnMoreUri }),
  ...(wanted.enabledApps === undefined || wanted.enabledApps.length === 0
    ? {}
    : { enabledAppSettings: { enabledApps: wanted.enabledApps.map((app) => ({ app })) } }),
  fields: (wanted.fields ?? []).map((field) => fieldJson(field)),
});
const typeProblems = (type: string | undefined): Problem[] =>
  type === undefined || type === 'SHARED' || type === 'ADMIN'
    ? []
    : [problem('type', 'enum', `must be SHARED or ADMIN to be created; got ${type}`)];
const createPlan = (wanted: LabelDef, options: PlanOptions): Plan => {
  const { title, type, copyMode, fields = [] } = wanted;
  const deferred = fields.flatMap((field) => [
    ...(field.disabled ? [`field ${field.name}`] : []),
    ...newChoicesDisabled(field),
  ]);
  const states = statePlan(wanted, undefined, { deferred, publish: options.publish ?? false });
  return {
    action: 'create',
    title,
    changes: [
      { kind: 'added', what: `label ${title}`, detail: type ?? 'SHARED', part: {} },
      ...fields.map(
        (field): Change => ({
          kind: 'added',
          what: `field ${field.name}`,
          detail: describe(field),
          part: {},
        }),
      ),
      ...states.changes,
    ],
    edits: [],
    create: createBody(wanted),
    ...(copyMode === undefined || copyMode === 'DO_NOT_COPY' ? {} : { copyMode }),
    transitions: states.transitions,
    deferred: states.deferred,
    pending: states.pending,
    problems: [...typeProblems(type), ...states.problems],
    notes: states.notes,
  };
};
const labelEdit = (wanted: LabelDef, live: LiveLabel): { changes: Change[]; edits: EditJson[] } => {
  const what = `label ${wanted.title}`;
  const changes: Change[] = [];
  const properties: Record<string, string> = {};
  if (wanted.title !== live.title) {
    changes.push({ kind: 'renamed', what, detail: `from ${live.title}`, part: {} });
    properties.title = wanted.title;
  }
  if (wanted.description !== undefined && (wanted.description ?? '') !== (live.description ?? '')) {
    const detail = descriptionText(live.description, wanted.description ?? undefined);
    changes.push({ kind: 'changed', what, detail, part: {} });
    properties.description = wanted.description ?? '';
  }
  if (changes.length === 0) return { changes, edits: [] };
  const updateMask = Object.keys(properties).join(',');
  return { changes, edits: [{ updateLabel: { properties, updateMask } }] };
};
/** The service sets these once and has no request that changes them. */
const fixedProblems = (wanted: LabelDef, live: LiveLabel): Problem[] => [
  ...(wanted.type === undefined || wanted.type === live.type
    ? []
    : [problem('type', 'rule', `is ${live.type} and cannot become ${wanted.type}`)]),
  ...((wanted.learnMoreUri ?? live.learnMoreUri) === live.learnMoreUri
    ? []
    : [problem('learnMoreUri', 'rule', 'can be set only when a label is created')]),
];
const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((app) => b.includes(app));
/** Copy mode and enabled apps take effect immediately, without a revision. */
const settingsPlan = (wanted: LabelDef, live: LiveLabel) => {
  const { copyMode, enabledApps } = wanted;
  const isNewMode = copyMode !== undefined && copyMode !== live.copyMode;
  const hasNewApps = enabledApps !== undefined && !isSameList(enabledApps, live.enabledApps);
  const line = (detail: string): Change => ({
    kind: 'changed',
    what: `label ${wanted.title}`,
    detail: `${detail} (takes effect immediately, without a revision)`,
    part: {},
  });
  return {
    changes: [
      ...(isNewMode ? [line(`copy mode ${copyMode}`)] : []),
      ...(hasNewApps ? [line(`enabled apps ${enabledApps.join(', ') || 'none'}`)] : []),
    ],
    ...(isNewMode ? { copyMode } : {}),
    ...(hasNewApps ? { enabledApps } : {}),
  };
};
const updatePlan = (wanted: LabelDef, live: LiveLabel, { prune, publish = false }: PlanOptions): Plan => {
  const label = labelEdit(wanted, live);
  const fields =
    wanted.fields === undefined
      ? { steps: [], problems: [], notes: [], deferred: [] }
      : fieldSteps(wanted.fields, live.fields, prune);
  const { changes: settings, ...settingsCalls } = settingsPlan(wanted, live);
  const edits = [...label.edits, ...fields.steps.map((step) => step.edit)];
  const states = statePlan(wanted, live, { hasEdits: edits.length > 0, deferred: fields.deferred, publish });
  const changes = [
    ...label.changes,
    ...fields.steps.flatMap((step) => step.changes),
    ...settings,
    ...states.changes,
  ];
  return {
    action: changes.some(({ kind }) => kind !== 'published') ? 'update' : 'none',
    title: wanted.title,
    id: live.id,
    revisionId: live.revisionId,
    changes,
    edits,
    ...settingsCalls,
    transitions: states.transitions,
    deferred: states.deferred,
    pending: states.pending,
    problems: [...fixedProblems(wanted, live), ...fields.problems, ...states.problems],
    notes: [...fields.notes, ...states.notes],
  };
};
/** There is no request to send. Publishing pending changes would be a request. */
export const isIdle = ({ action, transitions }: Plan): boolean =>
  action === 'none' && transitions.length === 0;
/**
 * Computes the required changes for a file, from the current label in the service (undefined: it does not
 * exist). Pure.
 */
export const planFrom = (wanted: LabelDef, live: LiveLabel | undefined, options: PlanOptions): Plan =>
  live === undefined ? createPlan(wanted, options) : updatePlan(wanted, live, options);

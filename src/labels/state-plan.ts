import { type Problem, problem } from '../core/problem.ts';
import { type Change, isSamePolicy } from './change.ts';
import type { DefinedState, LabelDef, LiveLabel } from './definition.ts';

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
};

const waitsForPublish = (name: string): string =>
  `${name} is a draft: it can be disabled only after it was published; apply the file again then`;

/** spec/labels#lifecycle: a published label never becomes a draft again. */
const cannotBeDraft = (live: LiveLabel): Problem =>
  problem(
    'state',
    'rule',
    `label ${live.title} was published and cannot become a draft again`,
    'remove `state`, or say published or disabled',
  );
/** spec/labels#lifecycle-2: publish leads from draft to published; a disabled label is enabled first. */
const disabledProblem = (live: LiveLabel): Problem =>
  problem(
    'state',
    'rule',
    `label ${live.title} is disabled, so --publish cannot publish its changes`,
    'say `state: published` in the file, or enable the label first',
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

/** Publishing publishes everything that waits, not only what this file changes: that is said beforehand. */
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
      ...(isPublishing ? [] : asked.deferred.map(waitsForPublish)),
    ],
    deferred: isPublishing ? asked.deferred : [],
  };
};

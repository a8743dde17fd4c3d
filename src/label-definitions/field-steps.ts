import { type Problem, problem } from '../core/problem.ts';
import { type Change, type Step, policyJson, samePolicy } from './change.ts';
import { type Steps, choiceJson, choiceSteps, waitsForPublish } from './choice-steps.ts';
import type { FieldDef, LiveField } from './definition.ts';
import { match } from './match.ts';
import { placesFrom } from './order.ts';

/** The option member of a field's type as createField and updateFieldType take it. */
const typeJson = (field: FieldDef, withChoices: boolean) => {
  const listOptions =
    field.maxEntries === undefined
      ? {}
      : { listOptions: field.maxEntries === 0 ? {} : { maxEntries: field.maxEntries } };
  switch (field.type) {
    case 'date':
      return { dateOptions: { dateFormatType: field.dateFormat ?? 'LONG_DATE' } };
    case 'selection':
      return {
        selectionOptions: {
          ...listOptions,
          ...(withChoices ? { choices: field.choices.map((choice) => choiceJson(choice)) } : {}),
        },
      };
    case 'user':
      return { userOptions: listOptions };
    default:
      return { [`${field.type}Options`]: {} };
  }
};

/** A field as a label is created with it. */
export const fieldJson = (field: FieldDef, before = '') => ({
  properties: {
    displayName: field.name,
    required: field.required,
    ...(before === '' ? {} : { insertBeforeField: before }),
  },
  ...typeJson(field, true),
});

type Place = { readonly before: string; readonly isMoved: boolean };
const what = (field: FieldDef | LiveField): string => `field ${field.name}`;

const propertyStep = (
  wanted: FieldDef,
  live: LiveField,
  place: Place,
  nameOf: (id: string) => string,
): Step[] => {
  const part = { fieldId: live.id };
  const changes: Change[] = [];
  const mask: string[] = [];
  const note = (kind: Change['kind'], member: string, detail: string): void => {
    changes.push({ kind, what: what(wanted), detail, part });
    mask.push(member);
  };
  if (wanted.name !== live.name) note('renamed', 'displayName', `from ${live.name}`);
  if (wanted.required !== live.required)
    note('changed', 'required', wanted.required ? 'now required' : 'no longer required');
  if (place.isMoved)
    note('moved', 'insertBeforeField', place.before === '' ? 'to the end' : `before ${nameOf(place.before)}`);
  if (mask.length === 0) return [];
  const all = { displayName: wanted.name, required: wanted.required, insertBeforeField: place.before };
  const properties = Object.fromEntries(Object.entries(all).filter(([key]) => mask.includes(key)));
  return [{ changes, edit: { updateField: { id: live.id, properties, updateMask: mask.join(',') } } }];
};

/** 0 in a file is "as many as the service allows", which the service answers with its number. */
const sameEntries = (wanted: number | undefined, live: number | undefined): boolean =>
  wanted === live || (wanted === 0 && live !== undefined);

/** spec/labels#lifecycle "Rules that bite after publish", judged before anything is sent. */
const frozen = (wanted: FieldDef, live: LiveField, path: string): Problem[] => {
  if (live.state === 'UNPUBLISHED_DRAFT') return [];
  if (wanted.type !== live.type) {
    return [
      problem(
        `${path}.type`,
        'rule',
        `field ${live.name} was published as a ${live.type} field; its type is frozen`,
        'add a new field and disable this one',
      ),
    ];
  }
  if (sameEntries(wanted.maxEntries, live.maxEntries)) return [];
  if (wanted.maxEntries === undefined || live.maxEntries === undefined) {
    return [
      problem(
        `${path}.maxEntries`,
        'rule',
        `field ${live.name} was published ${live.maxEntries === undefined ? 'for one value' : 'for several values'}; that is fixed`,
      ),
    ];
  }
  const floor = live.publishedEntries ?? live.maxEntries;
  return wanted.maxEntries < floor
    ? [
        problem(
          `${path}.maxEntries`,
          'rule',
          `field ${live.name} was published with maxEntries ${floor}; it cannot shrink to ${wanted.maxEntries}`,
        ),
      ]
    : [];
};

const typeStep = (wanted: FieldDef, live: LiveField): Step[] => {
  const change = (detail: string): Change => ({
    kind: 'changed',
    what: what(wanted),
    detail,
    part: { fieldId: live.id },
  });
  const edit = (updateMask: string, withChoices: boolean) => ({
    updateFieldType: { id: live.id, ...typeJson(wanted, withChoices), updateMask },
  });
  if (wanted.type !== live.type) {
    return [
      {
        changes: [{ ...change(`type ${live.type} becomes ${wanted.type}`), takesAway: true }],
        edit: edit(`${wanted.type}Options`, true),
      },
    ];
  }
  if (!sameEntries(wanted.maxEntries, live.maxEntries)) {
    const number = wanted.maxEntries === undefined ? 'one value' : `at most ${wanted.maxEntries} values`;
    return [{ changes: [change(number)], edit: edit(`${wanted.type}Options.listOptions`, false) }];
  }
  if (wanted.type === 'date' && wanted.dateFormat !== live.dateFormat)
    return [{ changes: [change(`date format ${wanted.dateFormat}`)], edit: edit('dateOptions', false) }];
  return [];
};

const stateStep = (wanted: FieldDef, live: LiveField): Step[] => {
  const base = { what: what(wanted), part: { fieldId: live.id } };
  const target = { id: live.id };
  if (wanted.disabled === undefined && live.disabled)
    return [{ changes: [{ kind: 'enabled', ...base }], edit: { enableField: target } }];
  if (wanted.disabled === undefined || (live.disabled && samePolicy(wanted.disabled, live.disabled)))
    return [];
  const disable: Step = {
    changes: [{ kind: 'disabled', ...base, takesAway: true }],
    edit: { disableField: { ...target, ...policyJson(wanted.disabled) } },
  };
  return live.disabled
    ? [{ changes: [], edit: { enableField: target } }, disable]
    : live.state === 'PUBLISHED'
      ? [disable]
      : [];
};

const goneSteps = (live: LiveField, prune: boolean): Step[] => {
  const base = { what: what(live), part: { fieldId: live.id }, takesAway: true as const };
  const remove: Step = { changes: [{ kind: 'deleted', ...base }], edit: { deleteField: { id: live.id } } };
  if (live.state === 'UNPUBLISHED_DRAFT') return [remove];
  const disable: Step = {
    changes: prune ? [] : [{ kind: 'disabled', ...base, detail: 'it is not in the file' }],
    edit: { disableField: { id: live.id, ...policyJson({ hideInSearch: false, showInApply: false }) } },
  };
  return [...(live.state === 'PUBLISHED' ? [disable] : []), ...(prune ? [remove] : [])];
};

const createStep = (wanted: FieldDef, before: string): Step => ({
  changes: [{ kind: 'added', what: what(wanted), detail: describe(wanted), part: {} }],
  edit: { createField: { field: fieldJson(wanted, before) } },
});
export const describe = ({ type, choices, maxEntries }: FieldDef): string =>
  `${type}${type === 'selection' ? `, ${choices.length} choices` : ''}${maxEntries === undefined ? '' : ', several values'}`;

/** A field that goes and one of the same type that comes look like a rename; the file has to say so. */
const renameHints = (added: readonly FieldDef[], missing: readonly LiveField[]): string[] =>
  added.flatMap((field) => {
    const alike = missing.filter((gone) => gone.type === field.type && gone.state !== 'DISABLED');
    return alike.length === 1
      ? [
          `if field ${alike[0]?.name} is to be renamed to ${field.name}, say \`was: ${alike[0]?.name}\` in the file`,
        ]
      : [];
  });

/** What makes the fields of a label those of the file. Removals first, so that limits are kept on the way. */
export const fieldSteps = (
  wanted: readonly FieldDef[],
  live: readonly LiveField[],
  prune: boolean,
): Steps => {
  const matched = match(wanted, live, 'fields');
  const places = placesFrom(
    matched.pairs.map((pair) => pair.live?.id),
    live.map((f) => f.id),
  );
  const place = (i: number): Place => places[i] ?? { before: '', isMoved: false };
  const nameOf = (id: string): string => live.find((f) => f.id === id)?.name ?? id;
  const added = matched.pairs.flatMap((pair) => (pair.live ? [] : [pair.wanted]));
  const problems: Problem[] = [...matched.problems];
  const notes: string[] = renameHints(added, matched.missing);
  const steps: Step[] = matched.missing.flatMap((field) => goneSteps(field, prune));
  const kept = matched.pairs.flatMap((pair, i) => (pair.live ? [{ ...pair, live: pair.live, i }] : []));
  for (const { wanted: field, live: known, i } of kept.toReversed())
    steps.push(...propertyStep(field, known, place(i), nameOf));
  for (const { wanted: field, live: known, path } of kept) {
    problems.push(...frozen(field, known, path));
    steps.push(...typeStep(field, known));
    if (field.type === 'selection' && known.type === 'selection') {
      const inner = choiceSteps(field, known, path, prune);
      steps.push(...inner.steps);
      problems.push(...inner.problems);
      notes.push(...inner.notes);
    }
    steps.push(...stateStep(field, known));
  }
  for (const [i, pair] of matched.pairs.entries())
    if (pair.live === undefined) steps.push(createStep(pair.wanted, place(i).before));
  for (const { wanted: field, live: known } of matched.pairs) {
    if (field.disabled && (known === undefined || known.state === 'UNPUBLISHED_DRAFT'))
      notes.push(waitsForPublish(what(field)));
  }
  return { steps, problems, notes };
};

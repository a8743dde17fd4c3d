import { describe, expect, test } from 'vitest';
import type { LimitsJson } from '../../src/labels/api-types.ts';
import {
  changeRow,
  changesText,
  descriptionText,
  type ChoiceDef,
  type FieldDef,
  type LabelDef,
  type LiveChoice,
  type LiveField,
  type LiveLabel,
} from '../../src/labels/definition.ts';
import { limitProblems, lockProblems, rightProblems } from '../../src/labels/desired.ts';
import { findUnpublished } from '../../src/labels/from-label.ts';
import { contentDigest, fieldDigest, unorderedDigest } from '../../src/labels/lock-entries.ts';
import { frozenProblems, isSameEntries, match } from '../../src/labels/match.ts';
import { lintRules } from '../../src/labels/lint.ts';
import { type PlanOptions, isIdle, planFrom } from '../../src/labels/plan.ts';
import { label as live, option, text } from '../support/live-labels.ts';
import { naming } from '../support/facts.ts';

const selection = (name: string, choices: LiveChoice[], patch: Partial<LiveField> = {}): LiveField =>
  text(name, { type: 'selection', choices, ...patch });
const planned = (
  wanted: Partial<LabelDef>,
  now: LiveLabel | undefined = live(),
  options: PlanOptions = { prune: false },
) => planFrom({ title: 'Contract', ...wanted }, now, options);
/** The fields that a plan changes: its lines, and the kinds of its edits. */
const fields = (wanted: readonly FieldDef[], now: readonly LiveField[], prune = false) => {
  const plan = planned({ fields: wanted }, live({ fields: now }), { prune });
  const kinds = plan.edits.map((edit) => Object.keys(edit)[0]);
  return { ...plan, lines: plan.changes.map(({ kind, what }) => `${what} ${kind}`), kinds };
};
const is = (name: string, patch: Partial<FieldDef> = {}): FieldDef => ({ name, type: 'text', ...patch });
const choices = (wanted: readonly ChoiceDef[], now: LiveChoice[], prune = false) =>
  fields([is('S', { type: 'selection', choices: wanted })], [selection('S', now)], prune);

describe('fields of a label that exists', () => {
  test('equal fields cause no request', () => {
    const same = fields([is('A', { required: false })], [text('A')]);
    expect([same.action, same.edits, same.changes, isIdle(same)]).toEqual(['none', [], [], true]);
  });

  test('fields are found by ID, by the previous name, or by their name', () => {
    expect(fields([is('B', { id: 'id-A' })], [text('A')])).toMatchObject({
      lines: ['field B renamed'],
      edits: [{ updateField: { id: 'id-A', properties: { displayName: 'B' }, updateMask: 'displayName' } }],
    });
    expect(fields([is('B', { was: 'A' })], [text('A')]).lines).toEqual(['field B renamed']);
    expect(fields([is('B', { was: 'A' })], [text('B')]).lines).toEqual([]);
    expect(fields([is('A', { id: 'of another deployment' })], [text('A')]).lines).toEqual([]);
    const [first] = match(
      [{ name: 'A' }],
      [
        { id: '1', name: 'A' },
        { id: '2', name: 'A' },
      ],
      'fields',
    ).problems;
    expect(first).toMatchObject({ path: 'fields[0]', message: '"A" is the name of 2 parts: 1, 2' });
    const twice = match(
      [
        { name: 'A', id: '1' },
        { name: 'B', id: '1' },
      ],
      [{ id: '1', name: 'A' }],
      'fields',
    );
    expect(twice.problems).toMatchObject([{ path: 'fields[1]' }]);
    expect(match([{ name: 'A', id: '1' }], [{ id: '1', name: 'A' }], 'fields').problems).toEqual([]);
  });

  test('become required, come, move and go', () => {
    expect(fields([is('A', { required: true })], [text('A')]).changes).toMatchObject([
      { kind: 'changed', detail: 'now required', part: { fieldId: 'id-A' } },
    ]);
    expect(fields([is('A', { required: false })], [text('A', { required: true })]).changes).toMatchObject([
      { detail: naming('no longer required') },
    ]);
    expect(fields([is('A'), is('N')], [text('A')])).toMatchObject({
      lines: ['field N added'],
      edits: [
        { createField: { field: { properties: { displayName: 'N', required: false }, textOptions: {} } } },
      ],
    });
    const before = fields([is('N'), is('A')], [text('A')]).edits[0]?.createField;
    expect(before).toMatchObject({ field: { properties: { insertBeforeField: 'id-A' } } });
    const moved = fields([is('B'), is('A')], [text('A'), text('B')]);
    expect(moved.changes).toMatchObject([{ kind: 'moved', detail: naming('end') }]);
  });

  test('omitted fields are disabled, or deleted with --prune; a draft is always deleted', () => {
    expect(fields([], [text('A')])).toMatchObject({ lines: ['field A disabled'], kinds: ['disableField'] });
    expect(fields([], [text('A')], true)).toMatchObject({
      ...{ lines: ['field A deleted'], kinds: ['disableField', 'deleteField'] },
    });
    const disabled = text('A', { state: 'DISABLED' });
    expect(fields([], [disabled]).kinds).toEqual([]);
    expect(fields([], [disabled], true).kinds).toEqual(['deleteField']);
    expect(fields([], [text('A', { state: 'UNPUBLISHED_DRAFT' })]).kinds).toEqual(['deleteField']);
    expect(fields([], [text('A')]).changes[0]).toMatchObject({
      takesAway: true,
      detail: naming('not in the file'),
    });
    expect(planned({}, live({ fields: [text('A')] })).edits).toEqual([]);
  });

  test('fields are disabled and enabled; another policy requires enabling first', () => {
    const policy = { hideInSearch: true, showInApply: false };
    const off = text('A', { state: 'DISABLED', disabled: policy });
    expect(fields([is('A', { disabled: policy })], [text('A')])).toMatchObject({
      lines: ['field A disabled'],
      edits: [{ disableField: { id: 'id-A', disabledPolicy: policy, updateMask: '*' } }],
    });
    expect(fields([is('A', { disabled: policy })], [off]).kinds).toEqual([]);
    expect(fields([is('A', { disabled: { ...policy, showInApply: true } })], [off]).kinds).toEqual([
      ...['enableField', 'disableField'],
    ]);
    expect(fields([is('A', { disabled: { ...policy, hideInSearch: false } })], [off]).kinds).toHaveLength(2);
    expect(fields([is('A', { disabled: false })], [off])).toMatchObject({
      ...{ lines: ['field A enabled'], kinds: ['enableField'] },
    });
    expect(fields([is('A', { disabled: false })], [text('A')]).kinds).toEqual([]);
    expect(fields([is('A')], [off]).kinds).toEqual(['enableField']);
    const draft = fields([is('A', { disabled: policy })], [text('A', { state: 'UNPUBLISHED_DRAFT' })]);
    expect([draft.kinds, draft.notes]).toEqual([[], [expect.stringContaining('field A is a draft')]]);
    expect(fields([is('N', { disabled: policy })], []).notes).toHaveLength(1);
  });

  test('change their type, number of values and format, one edit each', () => {
    const draft = { state: 'UNPUBLISHED_DRAFT' } as const;
    expect(fields([is('A', { type: 'integer' })], [text('A', draft)])).toMatchObject({
      changes: [{ detail: 'type text becomes integer', takesAway: true }],
      edits: [{ updateFieldType: { id: 'id-A', integerOptions: {}, updateMask: 'integerOptions' } }],
    });
    const parts = [{ name: 'x' }, { name: 'y' }];
    expect(
      fields([is('A', { type: 'selection', maxEntries: 2, choices: parts })], [text('A', draft)]).edits,
    ).toEqual([
      {
        updateFieldType: {
          ...{ id: 'id-A', updateMask: 'selectionOptions' },
          selectionOptions: {
            listOptions: { maxEntries: 2 },
            choices: parts.map(({ name }) => ({ properties: { displayName: name } })),
          },
        },
      },
    ]);
    const twoValues = text('S', { type: 'selection', maxEntries: 2, choices: [option('x')], ...draft });
    expect(
      fields([is('S', { type: 'selection', maxEntries: 3, choices: [{ name: 'x' }] })], [twoValues]).edits,
    ).toEqual([
      {
        updateFieldType: {
          ...{ id: 'id-S', updateMask: 'selectionOptions.listOptions' },
          selectionOptions: { listOptions: { maxEntries: 3 } },
        },
      },
    ]);
    const user = text('U', { type: 'user', ...draft });
    expect(fields([is('U', { type: 'user', maxEntries: 3 })], [user])).toMatchObject({
      changes: [{ detail: naming('most 3', 'values') }],
      edits: [{ updateFieldType: { userOptions: { listOptions: { maxEntries: 3 } } } }],
    });
    expect(fields([is('U', { type: 'user', maxEntries: 0 })], [user]).edits).toMatchObject([
      { updateFieldType: { userOptions: { listOptions: {} }, updateMask: 'userOptions.listOptions' } },
    ]);
    const several = { ...user, maxEntries: 4 };
    expect(fields([is('U', { type: 'user', maxEntries: null })], [several]).changes).toMatchObject([
      { detail: 'one value' },
    ]);
    expect(fields([is('U', { type: 'user', maxEntries: 4 })], [several]).kinds).toEqual([]);
    const date = text('D', { type: 'date', dateFormat: 'LONG_DATE' });
    expect(fields([is('D', { type: 'date', dateFormat: 'SHORT_DATE' })], [date])).toMatchObject({
      changes: [{ detail: naming('date', 'SHORT_DATE') }],
      edits: [
        { updateFieldType: { dateOptions: { dateFormatType: 'SHORT_DATE' }, updateMask: 'dateOptions' } },
      ],
    });
    expect(fields([is('D', { type: 'date', dateFormat: 'LONG_DATE' })], [date]).kinds).toEqual([]);
    expect(fields([is('D', { type: 'date' })], [date]).kinds).toEqual([]);
  });

  test('a removed field and a new one of its type are reported as a possible rename', () => {
    expect(fields([is('B')], [text('A')]).notes).toEqual([naming('was: A', 'field', 'renamed', 'write')]);
    expect(fields([is('B', { type: 'integer' })], [text('A')]).notes).toEqual([]);
    expect(fields([is('B')], [text('A', { state: 'DISABLED' })]).notes).toEqual([]);
    expect(fields([is('C')], [text('A'), text('B')]).notes).toEqual([]);
  });

  test('published fields have a frozen type and number of values', () => {
    const frozen = (wanted: FieldDef, now: LiveField) =>
      frozenProblems(wanted, now, 'f').map(({ path }) => path);
    expect(frozen(is('A', { type: 'integer' }), text('A'))).toEqual(['f.type']);
    expect(frozen(is('A', { type: 'integer' }), text('A', { state: 'UNPUBLISHED_DRAFT' }))).toEqual([]);
    const user = (maxEntries?: number, publishedEntries?: number): LiveField =>
      text('U', {
        type: 'user',
        ...(maxEntries === undefined ? {} : { maxEntries }),
        ...(publishedEntries === undefined ? {} : { publishedEntries }),
      });
    const wants = (maxEntries: number | null): FieldDef => is('U', { type: 'user', maxEntries });
    expect(frozen(wants(null), user(3))).toEqual(['f.maxEntries']);
    expect(frozen(wants(3), user())).toEqual(['f.maxEntries']);
    expect(frozen(wants(2), user(3))).toEqual(['f.maxEntries']);
    expect(frozen(wants(4), user(3))).toEqual([]);
    expect(frozen(wants(2), user(3, 2))).toEqual([]);
    expect(frozen(wants(1), user(3, 2))).toEqual(['f.maxEntries']);
    expect(frozen(is('U', { type: 'user' }), user(3))).toEqual([]);
    expect([isSameEntries(0, 5), isSameEntries(0, undefined), isSameEntries(null, undefined)]).toEqual([
      ...[true, false, true],
    ]);
  });
});

describe('choices of a field', () => {
  test('come, are changed and go as fields do', () => {
    expect(choices([{ name: 'x' }], [option('x')]).lines).toEqual([]);
    expect(choices([{ name: 'x' }, { name: 'y' }], [option('x')])).toMatchObject({
      lines: ['choice y of field S added'],
      edits: [{ createSelectionChoice: { fieldId: 'id-S', choice: { properties: { displayName: 'y' } } } }],
    });
    expect(choices([{ name: 'z', was: 'x' }], [option('x')]).edits).toEqual([
      {
        updateSelectionChoiceProperties: {
          ...{ fieldId: 'id-S', id: 'id-x', properties: { displayName: 'z' }, updateMask: 'displayName' },
        },
      },
    ]);
    expect(choices([], [option('x')], true).kinds).toEqual([
      'disableSelectionChoice',
      'deleteSelectionChoice',
    ]);
    const off = option('x', { state: 'DISABLED', disabled: { hideInSearch: false, showInApply: false } });
    expect(choices([{ name: 'x', disabled: false }], [off]).kinds).toEqual(['enableSelectionChoice']);
    const kept = fields([is('S', { type: 'selection' })], [selection('S', [option('x')])]);
    expect(kept.kinds).toEqual([]);
  });

  test('choices have a description and a badge, which an empty value removes', () => {
    const badge = { color: '#ff0000', priority: '7' };
    const changed = choices([{ name: 'x', description: 'd', badge }], [option('x')]);
    expect(changed.changes.map(({ detail }) => detail)).toEqual(['description none becomes "d"', 'badge']);
    expect(changed.edits[0]?.updateSelectionChoiceProperties).toMatchObject({
      properties: {
        description: 'd',
        badgeConfig: { color: { red: 1, green: 0, blue: 0 }, priorityOverride: '7' },
      },
      updateMask: 'description,badgeConfig',
    });
    const now = option('x', { description: 'd', badge });
    expect(choices([{ name: 'x', description: 'd', badge }], [now]).kinds).toEqual([]);
    expect(choices([{ name: 'x' }], [now]).kinds).toEqual([]);
    expect(choices([{ name: 'x', description: null, badge: null }], [now]).edits).toEqual([
      {
        updateSelectionChoiceProperties: {
          ...{
            fieldId: 'id-S',
            id: 'id-x',
            properties: { description: '' },
            updateMask: 'description,badgeConfig',
          },
        },
      },
    ]);
    expect(choices([{ name: 'x', badge: { color: '#ff0000', priority: '8' } }], [now]).kinds).toHaveLength(1);
    expect(choices([{ name: 'x', badge: { color: '#ff0001', priority: '7' } }], [now]).kinds).toHaveLength(1);
  });
});

describe('a new label', () => {
  const made = (wanted: Partial<LabelDef>, options?: PlanOptions) =>
    planFrom({ title: 'New', ...wanted }, undefined, options ?? { prune: false });
  test('a new label is one body with all its fields', () => {
    expect(
      made({ description: 'd', learnMoreUri: 'https://x', enabledApps: ['FILES'], fields: [is('A')] }),
    ).toMatchObject({
      action: 'create',
      changes: [
        { what: 'label New', detail: 'SHARED' },
        { what: 'field A', detail: 'text' },
      ],
      create: {
        labelType: 'SHARED',
        properties: { title: 'New', description: 'd' },
        learnMoreUri: 'https://x',
        enabledAppSettings: { enabledApps: [{ app: 'FILES' }] },
        fields: [{ properties: { displayName: 'A', required: false }, textOptions: {} }],
      },
    });
    expect(made({ description: null, enabledApps: [] }).create).toEqual({
      ...{ labelType: 'SHARED', properties: { title: 'New' }, fields: [] },
    });
    expect(made({ type: 'ADMIN' }).problems).toEqual([]);
    expect(made({ type: 'GOOGLE' }).problems).toMatchObject([{ path: 'type', rule: 'enum' }]);
    expect(made({ copyMode: 'ALWAYS_COPY' }).copyMode).toBe('ALWAYS_COPY');
    expect(made({ copyMode: 'DO_NOT_COPY' })).not.toHaveProperty('copyMode');
    const parts = [
      is('S', { type: 'selection', maxEntries: 2, choices: [{ name: 'x' }] }),
      is('U', { type: 'user', maxEntries: null }),
    ];
    expect(
      made({ fields: parts })
        .changes.slice(1)
        .map(({ detail }) => detail),
    ).toEqual([...['selection, 1 choice, several values', 'user']]);
  });
  test('a new label is published if the file or the flag requests it; disabled parts wait for that', () => {
    const off = { hideInSearch: false, showInApply: false };
    const parts = [
      is('A', { disabled: off }),
      is('S', { type: 'selection', choices: [{ name: 'x', disabled: off }, { name: 'y' }] }),
    ];
    const names = ['field A', 'choice x of field S'];
    const draft = made({ fields: parts });
    expect([draft.transitions, draft.deferred, draft.notes.length]).toEqual([[], [], 2]);
    const flagged = made({ fields: parts }, { prune: false, publish: true });
    expect([flagged.transitions, flagged.deferred, flagged.notes]).toEqual([['publish'], names, []]);
    expect(made({ state: 'published' }).transitions).toEqual(['publish']);
    expect(made({ state: 'disabled' }).transitions).toEqual(['publish', 'disable']);
    expect(made({ state: 'draft' }).problems).toEqual([]);
    expect(made({ state: 'draft' }, { prune: false, publish: true }).problems).toMatchObject([
      { path: 'state' },
    ]);
  });
});

describe('a label that exists', () => {
  test('gets its title, description and settings; the rest is fixed', () => {
    expect(planned({ title: 'Other', description: 'd' })).toMatchObject({
      ...{ action: 'update', id: 'L', revisionId: '3' },
      edits: [
        {
          updateLabel: { properties: { title: 'Other', description: 'd' }, updateMask: 'title,description' },
        },
      ],
    });
    expect(planned({ description: null }, live({ description: 'd' })).edits).toMatchObject([
      { updateLabel: { properties: { description: '' } } },
    ]);
    expect(planned({ description: null }).edits).toEqual([]);
    expect(planned({ copyMode: 'ALWAYS_COPY', enabledApps: ['FILES'] })).toMatchObject({
      ...{ action: 'update', copyMode: 'ALWAYS_COPY', enabledApps: ['FILES'], edits: [] },
    });
    const apps = live({ enabledApps: ['A', 'B'] });
    expect(planned({ enabledApps: ['B', 'A'] }, apps).action).toBe('none');
    expect(planned({ enabledApps: ['A'] }, apps).enabledApps).toEqual(['A']);
    expect(planned({ enabledApps: ['A', 'C'] }, apps).action).toBe('update');
    expect(planned({ copyMode: 'DO_NOT_COPY' }).action).toBe('none');
    expect(planned({ type: 'ADMIN' }).problems).toMatchObject([{ path: 'type' }]);
    expect(planned({ type: 'SHARED' }).problems).toEqual([]);
    expect(planned({ learnMoreUri: 'https://x' }).problems).toMatchObject([{ path: 'learnMoreUri' }]);
    expect(planned({ learnMoreUri: 'https://x' }, live({ learnMoreUri: 'https://x' })).problems).toEqual([]);
    expect(planned({}, live({ learnMoreUri: 'https://x' })).problems).toEqual([]);
    expect(
      planned({ learnMoreUri: 'https://y' }, live({ learnMoreUri: 'https://x' })).problems,
    ).toMatchObject([{ path: 'learnMoreUri' }]);
  });

  const off = { hideInSearch: true, showInApply: false };
  const states = {
    published: live(),
    waiting: live({ hasUnpublishedChanges: true }),
    draft: live({ state: 'UNPUBLISHED_DRAFT' }),
    disabled: live({ state: 'DISABLED', disabledPolicy: off }),
    pending: live({ state: 'DISABLED', hasUnpublishedChanges: true }),
  };
  test.each<[keyof typeof states, LabelDef['state'], string[]]>([
    ['published', 'published', []],
    ['waiting', 'published', ['publish']],
    ['draft', 'published', ['publish']],
    ['disabled', 'published', ['enable']],
    ['pending', 'published', ['enable', 'publish']],
    ['published', 'disabled', ['disable']],
    ['waiting', 'disabled', ['publish', 'disable']],
    ['draft', 'disabled', ['publish', 'disable']],
    ['disabled', 'disabled', []],
    ['draft', 'draft', []],
    ['waiting', undefined, []],
  ])('an existing label that is %s becomes %s by %j', (now, state, transitions) => {
    const plan = planned(state === undefined ? {} : { state }, states[now]);
    expect([plan.transitions, plan.problems]).toEqual([transitions, []]);
    const waits = transitions.includes('publish') && now !== 'published';
    const isShownEarlier = state === undefined && now === 'waiting';
    expect(plan.notes.length).toBe(waits || isShownEarlier ? 1 : 0);
    expect(isIdle(plan)).toBe(transitions.length === 0);
  });
  test('cannot become a draft again, and --publish does not enable what is disabled', () => {
    expect(planned({ state: 'draft' }).problems).toMatchObject([{ path: 'state' }]);
    const publish = { prune: false, publish: true };
    expect(planned({ title: 'Other' }, states.disabled, publish).problems).toHaveLength(1);
    expect(planned({}, states.disabled, publish)).toMatchObject({ problems: [], transitions: [] });
    expect(planned({}, states.waiting, publish)).toMatchObject({ action: 'none', transitions: ['publish'] });
    const edits = planned({ title: 'Other', state: 'disabled' }, states.disabled);
    expect([edits.transitions, edits.notes]).toEqual([[], [expect.stringContaining('stays disabled')]]);
    const other = planned(
      { state: 'disabled', disabledPolicy: { ...off, showInApply: true } },
      states.disabled,
    );
    expect(other.transitions).toEqual(['enable', 'disable']);
    expect(planned({ state: 'disabled', disabledPolicy: off }, states.disabled).transitions).toEqual([]);
    const none = { hideInSearch: false, showInApply: false };
    expect(planned({ state: 'disabled', disabledPolicy: none }, states.pending).transitions).toEqual([]);
    expect(planned({ state: 'published' }, states.waiting).changes).toEqual([
      { kind: 'published', what: 'label Contract', part: {} },
    ]);
  });
});

describe("checks of the service's rules", () => {
  const limits: LimitsJson = {
    ...{ maxTitleLength: 3, maxDescriptionLength: 4, maxFields: 2 },
    fieldLimits: {
      ...{ maxDisplayNameLength: 3, maxDescriptionLength: 2 },
      selectionLimits: {
        maxChoices: 1,
        maxDisplayNameLength: 2,
        maxIdLength: 2,
        listLimits: { maxEntries: 2 },
      },
      userLimits: { listLimits: { maxEntries: 3 } },
    },
  };
  const paths = (wanted: Partial<LabelDef>, now?: LiveLabel, of: LimitsJson = limits) =>
    limitProblems({ title: 'abc', ...wanted }, now, of).map(({ path }) => path);

  test('a problem is found at one more than each limit, and not at the limit', () => {
    expect(paths({ description: '💥💥💥💥' })).toEqual([]);
    expect(paths({ title: 'abcd', description: '12345' })).toEqual(['title', 'description']);
    const choice = { name: 'xx', id: 'yy', description: 'zz' };
    const field = (patch: Partial<FieldDef>) =>
      paths({ fields: [is('abc', { type: 'selection', ...patch })] });
    expect(field({ choices: [choice], maxEntries: 2 })).toEqual([]);
    expect(field({ name: 'abcd' })).toEqual(['fields[0].name']);
    expect(field({ choices: [choice, choice] })).toEqual(['fields[0].choices']);
    expect(field({ maxEntries: 3 })).toEqual(['fields[0].maxEntries']);
    expect(field({ type: 'user', maxEntries: 3 })).toEqual([]);
    expect(field({ type: 'user', maxEntries: 4 })).toEqual(['fields[0].maxEntries']);
    expect(field({ maxEntries: null })).toEqual([]);
    expect(field({ choices: [{ name: 'xxx', id: 'yyy', description: 'zzz' }] })).toEqual(
      ['name', 'id', 'description'].map((member) => `fields[0].choices[0].${member}`),
    );
    expect(paths({ title: 'x'.repeat(99), fields: [is('a'.repeat(99))] }, undefined, {})).toEqual([]);
  });

  test('fields that stay, disabled, count as well', () => {
    const two = [is('A'), is('B')];
    expect(paths({ fields: two })).toEqual([]);
    expect(paths({ fields: [...two, is('C')] })).toEqual(['fields']);
    expect(paths({ fields: two }, live({ fields: [text('A'), text('Z')] }))).toEqual(['fields']);
    expect(paths({ fields: two }, live({ fields: [text('Z', { state: 'UNPUBLISHED_DRAFT' })] }))).toEqual([]);
    expect(paths({ fields: [is('A', { id: 'id-Z' }), is('B')] }, live({ fields: [text('Z')] }))).toEqual([]);
    expect(paths({ fields: [is('A', { was: 'Z' }), is('B')] }, live({ fields: [text('Z')] }))).toEqual([]);
  });

  test('a lock covers its parts; removing a part conflicts with the locks inside', () => {
    const off = fields([], [text('A')]);
    const renamed = fields([is('B', { id: 'id-A' })], [text('A')]);
    const refused = (plan: typeof off, lock: object): number => lockProblems(plan, [lock]).length;
    expect([refused(off, {}), refused(off, { fieldId: 'id-A' }), refused(off, { fieldId: 'id-B' })]).toEqual([
      1, 1, 0,
    ]);
    const inside = { fieldId: 'id-A', choiceId: 'x' };
    expect([refused(off, inside), refused(renamed, inside), refused(renamed, { fieldId: 'id-A' })]).toEqual([
      1, 0, 1,
    ]);
    const choice = choices([{ name: 'z', was: 'x' }], [option('x')]);
    const locks = [
      { fieldId: 'id-S', choiceId: 'id-x' },
      { fieldId: 'id-S', choiceId: 'id-y' },
      { fieldId: 'id-S' },
    ];
    expect(locks.map((lock) => refused(choice, lock))).toEqual([1, 0, 1]);
    expect(lockProblems(choice, [{ name: 'locks/1' }])[0]?.message).toEqual(
      naming('locks/1', 'renamed', 'locked'),
    );
  });

  test('missing permissions of the account are known in advance', () => {
    const none = { canUpdate: false, canDisable: false, canEnable: false };
    const rights = (wanted: Partial<LabelDef>, now: Partial<LiveLabel>) => {
      const label = live(now);
      return rightProblems(planned(wanted, label), label, undefined).map(({ message }) => message);
    };
    expect(rights({}, { rights: none })).toEqual([]);
    expect(rights({ title: 'X' }, { rights: none })).toEqual([naming('may not be changed')]);
    expect(rights({ copyMode: 'X' }, { rights: none })).toHaveLength(1);
    expect(rights({ enabledApps: ['X'] }, { rights: none })).toHaveLength(1);
    expect(rights({ title: 'X' }, {})).toEqual([]);
    expect(rights({ state: 'disabled' }, { rights: { ...none, canUpdate: true } })).toEqual([
      naming('may not be disabled'),
    ]);
    expect(rights({ state: 'disabled' }, { rights: { ...none, canDisable: true } })).toEqual([]);
    const off = { state: 'DISABLED' } as const;
    expect(rights({ state: 'published' }, { ...off, rights: none })).toEqual([naming('may not be enabled')]);
    expect(rights({ state: 'published' }, { ...off, rights: { ...none, canEnable: true } })).toEqual([]);
    const draft = { state: 'UNPUBLISHED_DRAFT', rights: none } as const;
    expect(rights({ state: 'published' }, draft)).toEqual([naming('may not be published')]);
    const creates = (type: string | undefined, user: object | undefined) =>
      rightProblems(
        planFrom({ title: 'N', ...(type ? { type } : {}) }, undefined, { prune: false }),
        undefined,
        user,
      );
    expect(creates(undefined, undefined)).toEqual([]);
    expect(creates(undefined, { canCreateSharedLabels: true })).toEqual([]);
    expect(creates(undefined, { canCreateAdminLabels: true })).toMatchObject([
      { message: expect.stringContaining('SHARED') },
    ]);
    expect(creates('ADMIN', { canCreateAdminLabels: true })).toEqual([]);
    expect(creates('ADMIN', { canCreateSharedLabels: true })).toMatchObject([
      { hint: 'type: SHARED may be allowed' },
    ]);
  });
});

test('the unpublished changes are the whole new label, otherwise the edits since the last publish', () => {
  const draft = live({ fields: [text('A'), text('B')] });
  expect(findUnpublished(draft, undefined).map(({ what }) => what)).toEqual([
    'label Contract',
    'field A',
    'field B',
  ]);
  expect(
    findUnpublished(draft, live({ fields: [text('A')] })).map(({ what, kind }) => `${what} ${kind}`),
  ).toEqual(['field B added']);
  expect(
    findUnpublished(live({ fields: [] }), live({ fields: [text('A')] })).map(({ kind }) => kind),
  ).toEqual(['deleted']);
  expect(findUnpublished(live({ state: 'DISABLED', copyMode: 'X' }), live())).toEqual([]);
});

test('a description is quoted up to sixty letters', () => {
  expect(descriptionText(undefined, 'a "b"')).toBe('description none becomes "a \\"b\\""');
  expect(descriptionText('x'.repeat(60), '')).toBe(`description "${'x'.repeat(60)}" becomes none`);
  expect(descriptionText('x'.repeat(61), undefined)).toBe(`description "${'x'.repeat(60)}…" becomes none`);
});

test('changes as lines and as rows', () => {
  expect(changesText([])).toBe('  no changes');
  const changes = fields([is('A', { required: true })], [text('A'), text('B')]).changes;
  expect(changesText(changes).split('\n')).toEqual([
    ...[naming('disabled'), '  ~ field A changed: now required'],
  ]);
  expect(changes.map(changeRow)).toEqual([
    { kind: 'disabled', what: 'field B', detail: naming('not in the file'), field_id: 'id-B' },
    { kind: 'changed', what: 'field A', detail: 'now required', field_id: 'id-A' },
  ]);
  expect(changeRow({ kind: 'added', what: 'x', part: { fieldId: 'f', choiceId: 'c' } })).toEqual({
    ...{ kind: 'added', what: 'x', field_id: 'f', choice_id: 'c' },
  });
});

test('every member of a part changes its digest; its id and, for the unordered one, its place do not', () => {
  const base = selection('S', [
    option('x', { description: 'd', badge: { color: '#ff0000', priority: '1' } }),
  ]);
  const others: LiveField[] = [
    ...[
      { ...base, name: 'T' },
      { ...base, required: true },
      { ...base, maxEntries: 2 },
      { ...base, type: 'user' as const },
    ],
    ...[
      { ...base, dateFormat: 'X' },
      { ...base, disabled: { hideInSearch: true, showInApply: true } },
    ],
    selection('S', [option('y', { description: 'd', badge: { color: '#ff0000', priority: '1' } })]),
    selection('S', [option('x', { badge: { color: '#ff0000', priority: '1' } })]),
    selection('S', [option('x', { description: 'd', badge: { color: '#ff0001', priority: '1' } })]),
    selection('S', [option('x', { description: 'd', badge: { color: '#ff0000', priority: '2' } })]),
    selection('S', [
      option('x', {
        description: 'd',
        badge: { color: '#ff0000', priority: '1' },
        disabled: { hideInSearch: true, showInApply: true },
      }),
    ]),
  ];
  expect(new Set([base, ...others].map(fieldDigest)).size).toBe(others.length + 1);
  expect(fieldDigest({ ...base, id: 'other' })).toBe(fieldDigest(base));
  const one = live({ fields: [text('A'), text('B')] });
  const turned = live({ fields: [text('B'), text('A')] });
  expect(contentDigest(one)).not.toBe(contentDigest(turned));
  expect(unorderedDigest(one)).toBe(unorderedDigest(turned));
  expect(unorderedDigest(live({ title: 'X' }))).not.toBe(unorderedDigest(live()));
  expect(contentDigest(live({ description: 'd' }))).not.toBe(contentDigest(live()));
  expect(unorderedDigest(live({ description: 'd' }))).not.toBe(unorderedDigest(live()));
});

describe('rules of a team', () => {
  const paths = (found: readonly { readonly path: string }[]) => found.map(({ path }) => path);
  test('the rule requires a description of labels, and of choices only if the team configures it', () => {
    const wanted: LabelDef = {
      title: 'L',
      fields: [is('S', { type: 'selection', choices: [{ name: 'x' }, { name: 'y', description: 'd' }] })],
    };
    const check = (labels: boolean, ofChoices: boolean, label = wanted) =>
      paths(lintRules.description.check(label, { labels, choices: ofChoices }));
    expect(check(true, false)).toEqual(['title']);
    expect(check(false, true)).toEqual(['fields[0].choices[0]']);
    expect(check(true, true)).toHaveLength(2);
    expect(check(true, false, { ...wanted, description: 'd' })).toEqual([]);
  });
  test('names match a pattern at every position', () => {
    const wanted: LabelDef = {
      title: 'Ok',
      fields: [is('bad', { type: 'selection', choices: [{ name: 'Ok' }, { name: 'bad' }] })],
    };
    expect(paths(lintRules.name_pattern.check(wanted, '^[A-Z]'))).toEqual([
      ...['fields[0].name', 'fields[0].choices[1].name'],
    ]);
  });
  test('a badge has the contrast that WCAG requires', () => {
    const check = (color: string | undefined, min: number, against = '#ffffff') =>
      lintRules.badge_contrast.check(
        {
          title: 'L',
          fields: [is('S', { type: 'selection', choices: [{ name: 'x', badge: color ? { color } : null }] })],
        },
        { against, min },
      );
    // The two extremes: white on white has a contrast of 1, black on white of 21.
    expect([check('#ffffff', 1).length, check('#ffffff', 1.01).length]).toEqual([0, 1]);
    expect([check('#000000', 21).length, check('#000000', 21.01).length]).toEqual([0, 1]);
    expect(check('#777777', 4.5)[0]?.message).toContain('a contrast of 4.5 against #ffffff; at least 4.5');
    expect(check('#ff0000', 5)[0]?.message).toContain('contrast of 4.0');
    expect(check('#00ff00', 5)[0]?.message).toContain('contrast of 1.4');
    expect(check('#0000ff', 9)[0]?.message).toContain('contrast of 8.6');
    expect(check('#ffffff', 9, '#0000ff')[0]?.message).toContain('contrast of 8.6');
    expect(check(undefined, 21)).toEqual([]);
  });
  test('editors are those whom the team names', () => {
    const check = (who: string, allowed: readonly string[], role = 'EDITOR') =>
      paths(lintRules.editors.check({ title: 'L', permissions: [{ role, email: who }] }, allowed));
    expect(check('a@x.example', [])).toEqual(['permissions[0]']);
    expect(check('a@x.example', ['*'])).toEqual([]);
    expect(check('a@x.example', ['a@x.example'])).toEqual([]);
    expect(check('a@x.example', ['@x.example'])).toEqual([]);
    expect(check('a@x.example', ['x.example'])).toEqual(['permissions[0]']);
    expect(check('a@x.example', [], 'READER')).toEqual([]);
  });
});

test('a choice of a new field of a label that exists is disabled once it was published', () => {
  const off = { hideInSearch: false, showInApply: false };
  const parts = [{ name: 'x', disabled: off }, { name: 'y' }];
  const wanted = {
    state: 'published' as const,
    fields: [is('A'), is('S', { type: 'selection', choices: parts })],
  };
  const plan = planned(wanted, live({ fields: [text('A')] }));
  expect([plan.transitions, plan.deferred]).toEqual([['publish'], ['choice x of field S']]);
  expect(planned({ fields: wanted.fields }, live({ fields: [text('A')] })).notes).toEqual([
    expect.stringContaining('choice x of field S is a draft'),
  ]);
});

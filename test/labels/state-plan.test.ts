import { describe, expect, test } from 'vitest';
import type { LabelDef, LiveLabel } from '../../src/labels/definition.ts';
import { statePlan } from '../../src/labels/plan.ts';
import { label } from '../support/live-labels.ts';
import { naming } from '../support/facts.ts';

type Asked = Parameters<typeof statePlan>[2];
const plan = (wanted: Partial<LabelDef>, live: Partial<LiveLabel> | undefined, asked: Partial<Asked> = {}) =>
  statePlan({ title: 'T', ...wanted }, live && label(live), {
    ...{ hasEdits: false, deferred: [], publish: false },
    ...asked,
  });
const states = {
  none: undefined,
  draft: { state: 'UNPUBLISHED_DRAFT' },
  published: {},
  waiting: { hasUnpublishedChanges: true },
  disabled: { state: 'DISABLED' },
  'disabled, waiting': { state: 'DISABLED', hasUnpublishedChanges: true },
} as const;
type Name = keyof typeof states;

describe('the state in a file', () => {
  test.each<[LabelDef['state'], Name, string, string]>([
    ['published', 'none', 'publish', 'publish'],
    ['published', 'draft', 'publish', 'publish'],
    ['published', 'published', '', 'publish'],
    ['published', 'waiting', 'publish', 'publish'],
    ['published', 'disabled', 'enable', 'enable publish'],
    ['published', 'disabled, waiting', 'enable publish', 'enable publish'],
    ['disabled', 'none', 'publish disable', 'publish disable'],
    ['disabled', 'draft', 'publish disable', 'publish disable'],
    ['disabled', 'published', 'disable', 'publish disable'],
    ['disabled', 'waiting', 'publish disable', 'publish disable'],
    ['disabled', 'disabled', '', ''],
    ['disabled', 'disabled, waiting', '', ''],
    ['draft', 'none', '', ''],
    ['draft', 'draft', '', ''],
    [undefined, 'draft', '', ''],
    [undefined, 'waiting', '', ''],
  ])('%s, of a label that is %s: %j, with edits %j', (state, now, alone, edited) => {
    const wanted = state === undefined ? {} : { state };
    const [one, two] = [plan(wanted, states[now]), plan(wanted, states[now], { hasEdits: true })];
    expect([one.transitions.join(' '), two.transitions.join(' ')]).toEqual([alone, edited]);
    expect([one.problems, two.problems]).toEqual([[], []]);
    const kinds = { publish: 'published', enable: 'enabled', disable: 'disabled' };
    expect(one.changes.map(({ kind }) => kind)).toEqual(one.transitions.map((each) => kinds[each]));
  });
  test('the state is a line of the label; disabling removes values', () => {
    expect(plan({ state: 'disabled' }, states.waiting).changes).toEqual([
      { kind: 'published', what: 'label T', part: {} },
      { kind: 'disabled', what: 'label T', part: {}, takesAway: true },
    ]);
    expect(plan({ state: 'published' }, states.disabled).changes).toEqual([
      { kind: 'enabled', what: 'label T', part: {} },
    ]);
  });
  test('the state never returns to draft', () => {
    for (const now of ['published', 'waiting', 'disabled'] as const)
      expect(plan({ state: 'draft' }, states[now]).problems).toMatchObject([{ path: 'state', rule: 'rule' }]);
  });
  test('another policy of a disabled label needs enabling in between', () => {
    const policy = (hideInSearch: boolean, showInApply: boolean) => ({ hideInSearch, showInApply });
    const to = (disabledPolicy: ReturnType<typeof policy>, live: Partial<LiveLabel> = {}) =>
      plan({ state: 'disabled', disabledPolicy }, { ...states.disabled, ...live }).transitions;
    expect(to(policy(false, false))).toEqual([]);
    expect(to(policy(true, false))).toEqual(['enable', 'disable']);
    expect(to(policy(false, true))).toEqual(['enable', 'disable']);
    expect(to(policy(true, false), { disabledPolicy: policy(true, false) })).toEqual([]);
    expect(to(policy(false, false), { disabledPolicy: policy(true, false) })).toEqual(['enable', 'disable']);
  });
});

describe('--publish', () => {
  const publish = { publish: true };
  test('--publish publishes files without a state, without a separate line', () => {
    for (const now of ['none', 'draft', 'waiting'] as const)
      expect(plan({}, states[now], publish)).toMatchObject({
        transitions: ['publish'],
        changes: [],
        problems: [],
      });
    expect(plan({}, states.published, publish).transitions).toEqual([]);
    expect(plan({}, states.published, { ...publish, hasEdits: true }).transitions).toEqual(['publish']);
  });
  test('leaves a disabled label alone, and is refused when there is something to publish', () => {
    expect(plan({}, states.disabled, publish)).toMatchObject({ transitions: [], problems: [] });
    for (const [now, hasEdits] of [
      ['disabled, waiting', false],
      ['disabled', true],
    ] as const)
      expect(plan({}, states[now], { ...publish, hasEdits })).toMatchObject({
        transitions: [],
        problems: [{ path: 'state' }],
      });
    expect(plan({}, states['disabled, waiting']).problems).toEqual([]);
    expect(plan({ state: 'disabled' }, states['disabled, waiting'], publish).problems).toEqual([]);
  });
  test('--publish contradicts only `state: draft`', () => {
    for (const now of ['none', 'draft', 'published'] as const)
      expect(plan({ state: 'draft' }, states[now], publish).problems).toMatchObject([
        { path: 'state', message: naming('draft', '--publish', 'contradicts') },
      ]);
    expect(plan({ state: 'disabled' }, states.published, publish).transitions).toEqual(['disable']);
  });
});

describe('notes before an apply', () => {
  test('a note reports that pending changes are published as well', () => {
    const notes = (wanted: Partial<LabelDef>, now: Name) =>
      plan(wanted, states[now], { hasEdits: true }).notes.length;
    const published = { state: 'published' } as const;
    expect([
      notes(published, 'draft'),
      notes(published, 'waiting'),
      notes(published, 'disabled, waiting'),
    ]).toEqual([...[1, 1, 1]]);
    expect([notes(published, 'published'), notes(published, 'none')]).toEqual([0, 0]);
  });
  test('a note reports that users see an earlier revision while a label has a draft', () => {
    const notes = (wanted: Partial<LabelDef>, now: Name) =>
      plan(wanted, states[now], { hasEdits: false }).notes.join();
    expect(notes({}, 'waiting')).toEqual(naming('users', 'earlier', 'draft', '--publish'));
    expect([notes({}, 'published'), notes({}, 'draft')]).toEqual(['', '']);
  });
  test('a note reports that a disabled label keeps its changes as a draft', () => {
    const notes = (now: Name, hasEdits: boolean, state: LabelDef['state'] = 'disabled') =>
      plan({ state }, states[now], { hasEdits }).notes.join();
    expect(notes('disabled', true)).toEqual(naming('disabled', 'stays', 'draft', 'enabled'));
    expect([
      notes('disabled', false),
      notes('published', true),
      notes('disabled', true, 'published'),
    ]).toEqual([...['', '', '']]);
  });
  test('parts that were published, or wait for that, are disabled', () => {
    const deferred = ['field A', 'choice x of field S'];
    const now = plan({ state: 'published' }, undefined, { deferred });
    expect([now.deferred, now.notes]).toEqual([deferred, []]);
    expect(now.changes.slice(1)).toEqual(
      deferred.map((what) => ({ kind: 'disabled', what, detail: naming('after', 'published'), part: {} })),
    );
    const later = plan({}, states.draft, { deferred });
    expect([later.deferred, later.changes, later.notes.map((note) => note.split(' is a draft')[0])]).toEqual([
      ...[[], []],
      deferred,
    ]);
  });
});

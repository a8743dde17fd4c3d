import { describe, expect, test } from 'vitest';
import {
  appliedFrom,
  changeRows,
  driftRow,
  outcomesText,
  planText,
  refuseLost,
} from '../../src/labels/outcome.ts';
import { planFrom } from '../../src/labels/plan.ts';
import type { LiveLabel, PermissionPlan } from '../../src/labels/definition.ts';
import type { PlannedLabel } from '../../src/labels/prepare.ts';
import type { AppError } from '../../src/core/problem.ts';
import { label } from '../support/live-labels.ts';
import { partlyMade } from '../support/context.ts';

const none: PermissionPlan = { added: [], changed: [], removed: [] };
const ada = { role: 'READER', email: 'ada@x' };
const prepared = (wanted: object, found: LiveLabel | null = label(), more: object = {}) => {
  const live = found ?? undefined;
  const whole = { title: 'Contract', ...wanted };
  const plan = planFrom(whole, live, { prune: false });
  const wish = { source: 'a.yaml', wanted: whole, document: {} };
  const base = { wish, wanted: whole, live, drift: [], plan, entry: undefined, base: undefined };
  return partlyMade<PlannedLabel>({ ...base, ...more });
};
const withPermissions = (plan: PermissionPlan) => ({ permissions: { live: [], plan } });

describe('a plan for people', () => {
  const lines = (...given: Parameters<typeof prepared>) =>
    planText(prepared(...given))
      .split('\n')
      .slice(1);
  const described = '  ~ label Contract changed: description none becomes "d"';
  test('a plan contains the changes of the label and of its permissions', () => {
    expect(lines({})).toEqual(['  no changes']);
    expect(lines({ description: 'd' })).toEqual([described]);
    expect(lines({}, label(), withPermissions(none))).toEqual(['  no changes']);
    expect(lines({ description: 'd' }, label(), withPermissions(none))).toEqual([described]);
    const all: PermissionPlan = {
      added: [ada],
      changed: [{ from: 'READER', to: { role: 'EDITOR', email: 'bob@x' } }],
      removed: [{ name: 'p/1', role: 'READER', group: 'groups/1' }],
    };
    const permissions = [
      '  + permission ada@x READER',
      '  ~ permission bob@x READER becomes EDITOR',
      '  x permission groups/1 READER',
    ];
    expect(lines({}, label(), withPermissions(all))).toEqual(permissions);
    expect(lines({ description: 'd' }, label(), withPermissions(all))).toEqual([described, ...permissions]);
    expect(changeRows(prepared({}, label(), withPermissions(all)))).toEqual([
      { kind: 'added', what: 'permission', role: 'READER', email: 'ada@x' },
      { kind: 'changed', what: 'permission', role: 'EDITOR', email: 'bob@x', from: 'READER' },
      { kind: 'deleted', what: 'permission', role: 'READER', group: 'groups/1' },
    ]);
  });
  test('a plan contains the notes and the remote changes', () => {
    const drift = [{ what: 'title of the label', was: 'A', is: 'B', isLost: true, at: {} }];
    const waiting = label({ hasUnpublishedChanges: true });
    expect(lines({ state: 'published' }, waiting, { drift })).toEqual([
      '  ! title of the label: was "A", is "B"',
      '  * label Contract published',
      '  note: revision 3 has changes that are not published yet; they are published as well',
    ]);
  });
});

describe('outcomes of a label', () => {
  const done = (more: object) => ({
    ...{ action: 'none', title: 'T', id: 'L', name: 'labels/L', revision: '4', published: false },
    ...{ sent: 0, requests: 0, changes: [], notes: [], ...more },
  });
  const line = (more: object) => outcomesText([done(more) as never], false);
  test('an outcome is one line, and only a label without requests is unchanged', () => {
    expect(line({})).toBe('T: up to date');
    expect(line({ requests: 1 })).toBe('T: labels/L, revision 4');
    expect(line({ published: true, requests: 1, state: 'published' })).toBe(
      'T: labels/L, revision 4, published',
    );
    expect(line({ published: true })).toBe('T: labels/L, revision 4');
    expect(line({ action: 'update', requests: 0 })).toBe('T: labels/L, revision 4');
  });
  test('an outcome has the state of its newest revision', () => {
    const state = (live: Parameters<typeof label>[0]) =>
      appliedFrom(prepared({}, label(live)), undefined).state;
    expect(state({})).toBe('published');
    expect(state({ hasUnpublishedChanges: true })).toBe('draft');
    expect(state({ state: 'UNPUBLISHED_DRAFT' })).toBe('draft');
    expect(state({ state: 'DISABLED', hasUnpublishedChanges: true })).toBe('disabled');
  });
  test('an outcome has its key in the lock file, the sent requests, and both notes', () => {
    const live = label({ id: 'N', revisionId: '9' });
    const one = prepared({ state: 'published', description: 'd' }, label({ hasUnpublishedChanges: true }), {
      entry: { key: 'k' },
    });
    const sent = { live, isPublished: true, isCreated: false, count: 3 };
    expect(appliedFrom(one, sent, ['more'])).toMatchObject({
      ...{ action: 'update', key: 'k', id: 'N', name: 'labels/N', revision: '9', published: true },
      ...{ sent: 1, requests: 3, state: 'published' },
      notes: [expect.stringContaining('not published yet'), 'more'],
    });
    expect(appliedFrom(prepared({}), undefined)).not.toHaveProperty('key');
    const fresh = appliedFrom(prepared({}, null), undefined);
    expect([fresh.name, fresh.published]).toEqual(['Contract', false]);
    expect(fresh).not.toHaveProperty('id');
    expect(fresh).not.toHaveProperty('revision');
  });
});

describe('a refusal because others changed the label', () => {
  const lost = { what: 'title of the label', was: 'A', is: 'B', isLost: true, at: { member: 'title' } };
  const kept = { ...lost, what: 'state of the label', isLost: false };
  const refusal = (one: PlannedLabel): AppError => {
    try {
      refuseLost({ deployment: 'd', options: {} } as never, [one]);
    } catch (error) {
      return error as AppError;
    }
    throw new Error('it was not refused');
  };
  const entry = { key: 'k', record: { deployments: { d: { revision: '2' } } } };
  test('the error names only the remote changes that would be undone', () => {
    const error = refusal(prepared({}, label(), { drift: [lost, kept], entry, base: { revision: '1' } }));
    expect(error.message).toBe(
      'label Contract (labels/L) was changed in d since revision 1 was applied, and is now at revision 3, and a.yaml would undo: title of the label. No request was sent.',
    );
    expect(error.detail.data).toEqual({
      deployment: 'd',
      labels: [
        {
          ...{ label: 'labels/L', title: 'Contract', seen_revision: '1', revision: '3' },
          drift: [{ what: 'title of the label', was: 'A', is: 'B', undone_by_file: true }],
        },
      ],
    });
    expect(error.detail.tryThis).toEqual([
      'opsctl labels diff -f a.yaml',
      '--take ours, to undo it anyway',
      '--take theirs, to write it into the file',
      expect.stringContaining('labels.lock.yaml is older than the last apply'),
    ]);
  });
  test('a deleted label is rejected by the revision of the lock file or of the file itself', () => {
    const gone = refusal(prepared({}, null, { drift: [lost], entry }));
    expect(gone.message).toContain('label Contract was changed in d since revision 2 was applied and a.yaml');
    expect(gone.detail.data).toMatchObject({
      labels: [{ label: null, seen_revision: null, revision: null }],
    });
    const exported = refusal(prepared({ revision: '7' }, label(), { drift: [lost] }));
    const own = refusal(
      prepared({ revision: '7' }, label(), { drift: [lost], entry, base: { revision: '1' } }),
    );
    expect(own.message).toContain('since revision 1 was applied');
    const older = refusal(prepared({ revision: '7' }, label(), { drift: [lost], entry }));
    expect(older.message).toContain('since revision 2 was applied');
    expect(exported.message).toContain('since revision 7 was exported, and is now at revision 3,');
    expect(exported.detail.tryThis).toContain(
      'opsctl labels adopt -f a.yaml, once the file is what you want',
    );
    expect(exported.detail.tryThis).not.toContain('--take theirs, to write it into the file');
  });
  test('rows of the error have the IDs of the part, without absent keys', () => {
    const at = { fieldId: 'f', choiceId: 'c', member: 'name' };
    expect(driftRow({ what: 'x', isLost: false, at })).toEqual({
      ...{ what: 'x', undone_by_file: false, field_id: 'f', choice_id: 'c' },
    });
    expect(Object.keys(driftRow({ what: 'x', was: null, is: null, isLost: true, at: {} }))).toEqual([
      ...['what', 'was', 'is'],
      'undone_by_file',
    ]);
  });
});

import { describe, expect, test } from 'vitest';
import type { Context } from '../../src/api/context.ts';
import {
  badgeWith,
  choiceMembers,
  type FieldDef,
  fieldMembers,
  type LabelDef,
  labelMembers,
  type LiveField,
  type LiveLabel,
  permissionMembers,
} from '../../src/labels/definition.ts';
import {
  deploymentOf,
  inDeployment,
  labelKey,
  LockIndex,
  newLabelKey,
  recordFrom,
  slugOf,
} from '../../src/labels/lock-entries.ts';
import {
  reportable,
  type FilesDiff,
  diffData,
  diffMarkdown,
  diffText,
  isDifferent,
} from '../../src/labels/diff.ts';
import {
  definitionOf,
  liveFrom,
  choiceText,
  fieldText,
  fileFrom,
  permissionText,
} from '../../src/labels/from-label.ts';
import { inParallel } from '../../src/labels/api-types.ts';
import {
  changeLock,
  type DeploymentRecord,
  directoryOf,
  type LockFile,
  readLock,
} from '../../src/labels/lock-file.ts';
import { appliedFrom, outcomesText, plansText, planText, refuseLost } from '../../src/labels/outcome.ts';
import { definitionFrom, documentsIn } from '../../src/labels/read-files.ts';
import { planFrom } from '../../src/labels/plan.ts';
import type { PlannedLabel, Session } from '../../src/labels/prepare.ts';
import { AppError } from '../../src/core/problem.ts';
import { applyResult } from '../../src/labels/plan-file.ts';
import { deleteDuplicate } from '../../src/labels/apply.ts';
import { parseDesiredLabels } from '../../src/labels/desired.ts';
import { fakeHost } from '../support/fake-host.ts';
import { label, text } from '../support/live-labels.ts';
import { contextWith, partlyMade } from '../support/context.ts';

describe('a label of the service in the words of a definition', () => {
  test('a missing value of the service is undefined, and an unmentioned permission is not denied', () => {
    const live = liveFrom({});
    expect(live).toEqual({
      ...{
        id: '',
        title: '',
        type: '',
        copyMode: 'DO_NOT_COPY',
        enabledApps: [],
        fields: [],
        revisionId: '',
      },
      ...{ state: 'UNPUBLISHED_DRAFT', hasUnpublishedChanges: false, createTime: '' },
      rights: { canUpdate: true, canDisable: true, canEnable: true },
    });
    expect(definitionOf(live)).not.toHaveProperty('id');
    const rights = (schemaCapabilities: object) => Object.values(liveFrom({ schemaCapabilities }).rights);
    expect(rights({ canUpdate: false })).toEqual([false, false, false]);
    expect(rights({ canUpdate: false, canDisable: true })).toEqual([false, true, false]);
    expect(rights({ canUpdate: true, canEnable: false })).toEqual([true, true, false]);
  });
  test('fields have the kind of their options, several values and formats', () => {
    const fields = liveFrom({
      fields: [
        { id: 'a', properties: { displayName: 'A', required: true }, integerOptions: {} },
        { selectionOptions: { listOptions: {}, choices: [{ id: 'x', properties: { displayName: 'X' } }] } },
        { userOptions: { listOptions: { maxEntries: 4 } }, lifecycle: { state: 'DISABLED' } },
        { dateOptions: { dateFormatType: 'SHORT_DATE' } },
        {},
      ],
    }).fields;
    expect(
      fields.map(({ type, required, maxEntries, dateFormat }) => [type, required, maxEntries, dateFormat]),
    ).toEqual([
      ...[
        ['integer', true, undefined, undefined],
        ['selection', false, 0, undefined],
        ['user', false, 4, undefined],
      ],
      ...[
        ['date', false, undefined, 'SHORT_DATE'],
        ['text', false, undefined, undefined],
      ],
    ]);
    expect(fields[2]?.disabled).toEqual({ hideInSearch: false, showInApply: false });
    expect(fields[1]?.choices).toEqual([{ id: 'x', name: 'X', state: 'UNPUBLISHED_DRAFT' }]);
    const choice = (properties: object, lifecycle = {}) =>
      liveFrom({ fields: [{ selectionOptions: { choices: [{ properties, lifecycle }] } }] }).fields[0]
        ?.choices[0];
    expect(choice({ badgeConfig: { color: { red: 1 }, priorityOverride: 3 } })?.badge).toEqual({
      color: '#ff0000',
      priority: '3',
    });
    expect(choice({ badgeConfig: { priorityOverride: '0' } })).not.toHaveProperty('badge');
    expect(choice({ description: '' })).not.toHaveProperty('description');
    expect(choice({}, { state: 'DISABLED', disabledPolicy: { hideInSearch: true } })?.disabled).toEqual({
      ...{ hideInSearch: true, showInApply: false },
    });
    expect(badgeWith('', '0')).toBeUndefined();
    expect(badgeWith(undefined, '1')).toEqual({ priority: '1' });
  });
  test('the definition contains the state, except `published` of a label with a newer draft', () => {
    const stateOf = (patch: Partial<LiveLabel>) => definitionOf(label(patch)).state;
    expect(stateOf({})).toBe('published');
    expect(stateOf({ hasUnpublishedChanges: true })).toBeUndefined();
    expect(stateOf({ state: 'UNPUBLISHED_DRAFT' })).toBe('draft');
    expect(stateOf({ state: 'DISABLED', hasUnpublishedChanges: true })).toBe('disabled');
    const def = definitionOf(
      label({
        fields: [
          text('A'),
          text('U', { type: 'user' }),
          text('S', { type: 'selection' }),
          text('Z', { id: '' }),
        ],
      }),
    );
    expect(def.fields).toEqual([
      { id: 'id-A', name: 'A', type: 'text', required: false, disabled: false },
      { id: 'id-U', name: 'U', type: 'user', required: false, maxEntries: null, disabled: false },
      {
        id: 'id-S',
        name: 'S',
        type: 'selection',
        required: false,
        maxEntries: null,
        choices: [],
        disabled: false,
      },
      { name: 'Z', type: 'text', required: false, disabled: false },
    ]);
  });
  test('the exported file omits values that belong to no user', () => {
    const off = (hideInSearch: boolean, showInApply: boolean) => ({ hideInSearch, showInApply });
    expect(choiceText({ name: 'x', disabled: off(false, false) })).toEqual({ name: 'x', disabled: true });
    expect(choiceText({ name: 'x', disabled: false })).toEqual({ name: 'x', disabled: false });
    expect(fieldText({ name: 'x', type: 'text', disabled: off(true, false) }).disabled).toEqual({
      hideInSearch: true,
    });
    expect(fieldText({ name: 'x', type: 'text', disabled: off(false, true) }).disabled).toEqual({
      showInApply: true,
    });
    expect(permissionText({ role: 'READER', email: 'a@x', person: 'people/1' })).toEqual({
      role: 'READER',
      email: 'a@x',
    });
    expect(permissionText({ role: 'READER', group: 'groups/1' })).toEqual({
      role: 'READER',
      group: 'groups/1',
    });
    expect(fileFrom({ title: 'T', enabledApps: [], disabledPolicy: off(false, false) })).toEqual({
      title: 'T',
      enabledApps: [],
    });
  });
});

test('every member that a file needs and where one belongs only is part of the format', () => {
  const needed = (members: object) =>
    Object.entries(members).flatMap(([name, { required }]) => (required ? [name] : []));
  expect([choiceMembers, fieldMembers, permissionMembers, labelMembers].map(needed)).toEqual([
    ['name'],
    ['name'],
    ['role'],
    ['title'],
  ]);
  expect(fieldMembers['maxEntries']).toMatchObject({ only: ['selection', 'user'], schema: { minimum: 0 } });
  const pathsOf = (field: object) =>
    definitionFrom({ title: 'T', fields: [field] }).problems.map(({ path, rule }) => `${path} ${rule}`);
  expect(pathsOf({ name: 'A', type: 'text', maxEntries: 1 })).toEqual(['fields[0].maxEntries rule']);
  expect(pathsOf({ name: 'A', type: 'user', maxEntries: 0 })).toEqual([]);
  expect(pathsOf({ name: 'A', type: 'user', maxEntries: -1 })).toEqual(['fields[0].maxEntries type']);
  expect(pathsOf({ name: 'A', type: 'user', maxEntries: 1.5 })).toEqual(['fields[0].maxEntries type']);
  expect(pathsOf({ name: 'A', choices: ['x'] })).toEqual([]);
  expect(pathsOf({ name: 'A' })).toEqual(['fields[0].type enum']);
  expect(pathsOf({ name: 'A', type: 'date', dateFormat: 'iso' })).toEqual(['fields[0].dateFormat enum']);
  const choice = (one: object) => pathsOf({ name: 'A', choices: [one] });
  expect(choice({ name: 'x', id: 'a-b' })).toEqual(['fields[0].choices[0].id format']);
  expect(choice({ name: 'x', badge: { color: 'red', priority: 'x' } })).toEqual([
    'fields[0].choices[0].badge.color format',
    'fields[0].choices[0].badge.priority format',
  ]);
  expect(choice({ name: 'x', badge: 7 })).toEqual(['fields[0].choices[0].badge type']);
  expect(choice({ name: 'x', badge: '#AABBCC' })).toEqual([]);
});

describe('keys of a lock file', () => {
  const record = (patch: Partial<DeploymentRecord> = {}): DeploymentRecord =>
    recordFrom({ title: 'x' }, label(patch as never), undefined, 'd');
  const at = (id: string, title: string): DeploymentRecord => ({ ...record(), id, title });
  const lock: LockFile = {
    labels: {
      a: { file: 'a.yaml', deployments: { here: at('1', 'A') } },
      b: { deployments: { there: at('2', 'A') } },
      c: { deployments: { there: at('3', 'C') } },
    },
  };
  const key = (wanted: Partial<LabelDef>, file?: string) =>
    labelKey(new LockIndex(lock, 'here'), { title: '', ...wanted }, file);
  test('labels are found by key, ID, title, previous title or file, with this deployment first', () => {
    expect(key({ key: 'own', title: 'A' })).toBe('own');
    expect(key({ id: '2', title: 'A' })).toBe('b');
    expect(key({ id: 'none', title: 'A' })).toBe('a');
    expect(key({ title: 'C' })).toBe('c');
    expect(key({ title: 'new', was: 'C' })).toBe('c');
    expect(key({ title: 'new', was: 'C' }, 'a.yaml')).toBe('c');
    expect(key({ title: 'new' }, 'a.yaml')).toBe('a');
    expect(key({ title: 'new' }, 'b.yaml')).toBeUndefined();
    expect(key({ title: 'new' })).toBeUndefined();
  });
  test('new keys are derived from the title and are unique', () => {
    expect(slugOf('  Übung: Phase 2! ')).toBe('ubung-phase-2');
    expect(slugOf('x'.repeat(99))).toHaveLength(80);
    const fresh = (title: string, taken: string[] = [], id?: string) => {
      const index = new LockIndex(lock, 'here');
      for (const key of taken) index.reserve(key);
      return newLabelKey(index, { title, ...(id === undefined ? {} : { id }) });
    };
    expect([fresh('New'), fresh('A'), fresh('A', ['a-2']), fresh('New', ['new'])]).toEqual([
      'new',
      'a-2',
      'a-3',
      'new-2',
    ]);
    expect([fresh('日本', [], 'L1'), fresh('日本')]).toEqual(['L1', 'label']);
  });

  const s = (...choices: [string, string][]): LiveField =>
    text('S', {
      type: 'selection',
      choices: choices.map(([id, name]) => ({ id, name, state: 'PUBLISHED' as const })),
    });
  test('parts keep their own key, the previous key, or get a new one from their name', () => {
    const wanted: LabelDef = {
      title: 'Contract',
      fields: [
        { name: 'A', type: 'text', key: 'alpha' },
        { name: 'S', type: 'selection', choices: [{ name: 'x' }, { name: 'y', id: 'yy' }] },
      ],
    };
    const live = label({ fields: [text('A'), s(['xx', 'x'], ['yy', 'y']), text('B B')] });
    const fields = recordFrom(wanted, live, undefined, 'd').fields;
    expect(Object.keys(fields)).toEqual(['alpha', 's', 'b-b']);
    expect(fields['s']?.choices).toEqual({ x: { name: 'x', id: 'xx' } });
    expect(fields['alpha']).toMatchObject({ name: 'A', id: 'id-A' });
    expect(fields['alpha']).not.toHaveProperty('choices');
    const before = { deployments: { d: recordFrom(wanted, live, undefined, 'd') } };
    const renamed: LabelDef = { title: 'Contract', fields: [{ name: 'AA', type: 'text', was: 'A' }] };
    expect(
      Object.keys(recordFrom(renamed, label({ fields: [text('AA', { id: 'id-A' })] }), before, 'd').fields),
    ).toEqual(['alpha']);
    const twice = recordFrom({ title: 'x' }, label({ fields: [text('B b'), text('B-B')] }), undefined, 'd');
    expect(Object.keys(twice.fields)).toEqual(['b-b', 'b-b-2']);
    expect(
      recordFrom({ title: 'x' }, label(), undefined, 'd', [{ role: 'READER', email: 'a@x' }]).permissions,
    ).toEqual({ 'a@x': 'READER' });
    expect(recordFrom({ title: 'x' }, label(), undefined, 'd')).not.toHaveProperty('permissions');
  });
  test('lead to the ids of another deployment', () => {
    const wanted: LabelDef = {
      title: 'Contract',
      fields: [
        { name: 'S', type: 'selection', choices: [{ name: 'x' }] },
        { name: 'N', type: 'text' },
      ],
    };
    const deployments = {
      here: recordFrom(
        wanted,
        label({ id: 'H', fields: [{ ...s(['hx', 'x']), id: 'hs' }] }),
        undefined,
        'here',
      ),
      there: recordFrom(
        wanted,
        label({ id: 'T', fields: [{ ...s(['tx', 'x']), id: 'ts' }] }),
        undefined,
        'there',
      ),
    };
    const inHere = inDeployment(wanted, { deployments }, 'here');
    expect(inHere).toEqual({
      ...{ title: 'Contract', id: 'H' },
      fields: [
        { name: 'S', type: 'selection', id: 'hs', choices: [{ name: 'x', id: 'hx' }] },
        { name: 'N', type: 'text' },
      ],
    });
    const byId: LabelDef = { title: 'Contract', fields: [{ name: 'other', type: 'selection', id: 'ts' }] };
    expect(inDeployment(byId, { deployments }, 'here').fields?.[0]).toMatchObject({ id: 'hs' });
    const was: LabelDef = { title: 'Contract', fields: [{ name: 'other', type: 'selection', was: 'S' }] };
    expect(inDeployment(was, { deployments }, 'here').fields?.[0]).toMatchObject({ id: 'hs' });
    expect(inDeployment(wanted, { deployments }, 'nowhere')).toBe(wanted);
    expect(inDeployment(wanted, undefined, 'here')).toBe(wanted);
    expect(inDeployment({ title: 'Contract' }, { deployments }, 'here')).toEqual({
      title: 'Contract',
      id: 'H',
    });
  });

  test('keys are written into the lock file of the directory, one command at a time', async () => {
    const host = fakeHost({ files: { '/place/l/a.yaml': '' } });
    const context = contextWith({ host, signal: new AbortController().signal });
    expect(await directoryOf(context, 'l')).toBe('/place/l');
    expect(await directoryOf(context, '/place/l/a.yaml')).toBe('/place/l');
    expect(await directoryOf(context, '-')).toBeUndefined();
    expect(await readLock(context, '/place/l')).toBeUndefined();
    const one = at('1', 'A');
    const putA = (now: LockFile, file: string | undefined, deployment: string, added: DeploymentRecord) => {
      const index = new LockIndex(now, deployment);
      index.put('a', file, added);
      return index.toLock();
    };
    await changeLock(context, '/place/l', (now) => putA(now, 'a.yaml', 'x', one));
    const both = await changeLock(context, '/place/l', (now) => putA(now, undefined, 'y', at('2', 'A')));
    expect(Object.keys(both.labels['a']?.deployments ?? {})).toEqual(['x', 'y']);
    expect(both.labels['a']?.file).toBe('a.yaml');
    expect(putA({ labels: {} }, undefined, 'x', one).labels['a']).not.toHaveProperty('file');
    expect(Object.keys(host.files.all()).filter((path) => path.includes('.held'))).toEqual([]);
    const mine = JSON.stringify({
      pid: 4242,
      machine: 'testhost',
      mark: 'mark',
      nonce: 'other',
      sinceMs: host.now(),
    });
    await host.files.replace('/place/l/.labels.lock.yaml.held', mine);
    const began = host.now();
    await expect(changeLock(context, '/place/l', (now) => now)).rejects.toMatchObject({
      detail: { code: 'LOCK_FILE_HELD' },
    });
    expect(host.now() - began).toBeGreaterThan(30_000);
    expect(host.now() - began).toBeLessThan(31_000);
  });
});

test('a deployment is named by the flag, its URL, or the state directory of an embedded server', async () => {
  const context = (target: object) =>
    contextWith({ target: async () => target, settings: { directories: { state: '/s' } } });
  expect(await deploymentOf(context({ baseUrl: 'https://x/' }), 'own')).toBe('own');
  expect(await deploymentOf(context({ baseUrl: 'https://x/v2//', isMock: false }), undefined)).toBe(
    'https://x/v2',
  );
  expect(await deploymentOf(context({ baseUrl: 'http://127.0.0.1:1', isMock: true }), undefined)).toMatch(
    /^embedded-[0-9a-f]{12}$/,
  );
});

test('some reads are under way at a time, and results keep the order of the items', async () => {
  let [now, most] = [0, 0];
  const use = async (n: number): Promise<number> => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setTimeout(resolve, (n * 3) % 4));
    now -= 1;
    return n * 2;
  };
  const items = Array.from({ length: 30 }, (_, i) => i);
  expect(await inParallel(items, use)).toEqual(items.map((n) => n * 2));
  expect(most).toBe(8);
  most = 0;
  await inParallel(items.slice(0, 3), use, 2);
  expect(most).toBe(2);
  expect(await inParallel([], use)).toEqual([]);
});

describe('texts about definitions', () => {
  const prepared = (
    wanted: Partial<LabelDef>,
    live: LiveLabel | undefined,
    patch: object = {},
  ): PlannedLabel => {
    const whole = { title: 'Contract', ...wanted };
    const plan = planFrom(whole, live, { prune: false });
    const wish = { source: 'a.yaml', wanted: whole, document: {} };
    return partlyMade<PlannedLabel>({
      wish,
      wanted: whole,
      entry: undefined,
      live,
      base: undefined,
      drift: [],
      plan,
      ...patch,
    });
  };
  const field: FieldDef = { name: 'A', type: 'text', required: true };
  const lost = {
    what: 'required of field A',
    was: false,
    is: true,
    isLost: true,
    at: { fieldId: 'id-A', member: 'required' },
  };
  const kept = { ...lost, isLost: false };
  const same = prepared({}, label());
  const fresh = prepared({ fields: [field] }, undefined);
  const changed = prepared({ fields: [field] }, label({ fields: [text('A')] }), { drift: [kept] });
  const drifted = prepared({ fields: [field] }, label({ fields: [text('A')] }), { drift: [lost] });
  const permissions = {
    live: [],
    plan: { added: [{ role: 'READER', email: 'a@x' }], changed: [], removed: [] },
  };
  const granted = prepared({}, label(), { permissions });

  test('a plan includes remote changes', () => {
    expect(planText(same).split('\n')).toEqual(['label Contract (labels/L, revision 3)', '  no changes']);
    expect(planText(fresh).split('\n')[0]).toBe('label Contract: new');
    expect(planText(changed)).toContain('(the file has it as well)');
    expect(planText(granted).split('\n')).toEqual([
      'label Contract (labels/L, revision 3)',
      expect.stringContaining('permission'),
    ]);
  });

  test('every outcome is both data and a line of text', () => {
    expect(appliedFrom(same, undefined)).toMatchObject({
      action: 'none',
      id: 'L',
      name: 'labels/L',
      revision: '3',
      sent: 0,
      requests: 0,
      published: false,
      state: 'published',
    });
    expect(appliedFrom(fresh, undefined)).toMatchObject({ action: 'create', name: 'Contract', sent: 0 });
    expect(appliedFrom(fresh, undefined)).not.toHaveProperty('state');
    const sent = {
      live: label({ id: 'N', revisionId: '4', state: 'UNPUBLISHED_DRAFT' }),
      isPublished: false,
      isCreated: true,
      count: 2,
    } as never;
    const done = appliedFrom(fresh, sent, ['note']);
    expect(done).toMatchObject({
      id: 'N',
      revision: '4',
      sent: 1,
      requests: 2,
      state: 'draft',
      notes: ['note'],
    });
    expect(appliedFrom(changed, { ...(sent as object), isCreated: false } as never).sent).toBe(1);
    expect(appliedFrom(granted, undefined).changes).toEqual([
      { kind: 'added', what: 'permission', role: 'READER', email: 'a@x' },
    ]);
    expect(outcomesText([appliedFrom(same, undefined), done], false).split('\n')).toEqual([
      'Contract: up to date',
      'Contract: labels/N, revision 4, draft',
    ]);
    expect(plansText([same, fresh, same, changed]).split('\n')).toEqual([
      ...planText(fresh).split('\n'),
      ...planText(changed).split('\n'),
      '1 to create, 1 to change, 2 unchanged',
    ]);
    expect(plansText([same])).toBe(planText(same));
    const idle = appliedFrom(same, undefined);
    expect(outcomesText([idle, done, idle], false).split('\n')).toEqual([
      'Contract: labels/N, revision 4, draft',
      '2 labels are up to date',
    ]);
    expect(outcomesText([done], true)).toBe('Contract: no request was sent (dry run)');
    const off = appliedFrom(prepared({}, label({ state: 'DISABLED' })), undefined);
    expect(off.state).toBe('disabled');
  });

  test('a file that would undo remote changes is rejected, unless ours wins', () => {
    const refuse = (all: PlannedLabel[], take?: 'ours') => () =>
      refuseLost(partlyMade<Session>({ deployment: 'd', options: { take } }), all);
    expect(refuse([same, changed])).not.toThrow();
    expect(refuse([drifted], 'ours')).not.toThrow();
    expect(refuse([drifted])).toThrow(
      'label Contract (labels/L) was changed in d since revision undefined was exported, and is now at revision 3, and a.yaml would undo: required of field A. No request was sent.',
    );
  });

  const diff = (...all: [PlannedLabel, FilesDiff['labels'][number]['status']][]): FilesDiff => ({
    deployment: 'd',
    labels: all.map(([one, status]) => ({ prepared: one, status })),
    orphans: [],
  });
  test('a difference is text, data and a comment', () => {
    const all = diff([same, 'same'], [fresh, 'new'], [changed, 'changed'], [drifted, 'drifted']);
    expect([isDifferent(all), isDifferent(diff([same, 'same']))]).toEqual([true, false]);
    expect(diffText(all).split('\n').at(-1)).toBe('d: 1 new, 1 changed, 1 drifted, 1 same');
    expect(diffText(diff([same, 'same']))).toBe('d: 1 same');
    expect(
      diffText(diff([drifted, 'drifted']))
        .split('\n')
        .slice(0, 3),
    ).toEqual([
      'label Contract (labels/L, revision 3), a.yaml: drifted',
      '  ! changed in the service: required of field A: was false, is true',
      '  ~ field A changed: now required',
    ]);
    const rows = diffData(all).labels;
    expect(rows.map(({ id, status, drift }) => [id, status, drift.length])).toEqual([
      ...[
        ['L', 'same', 0],
        [null, 'new', 0],
        ['L', 'changed', 1],
        ['L', 'drifted', 1],
      ],
    ]);
    expect(rows[3]?.drift).toEqual([
      { what: 'required of field A', was: false, is: true, undone_by_file: true, field_id: 'id-A' },
    ]);
    const orphans = [{ key: 'k', id: 'O', title: 'Old' }];
    const page = diffMarkdown({ ...all, orphans });
    expect(page).toContain('| Contract | a.yaml | drifted | 1 | 1 |');
    expect(page).toContain('! changed in the service');
    expect(page).toContain('- label Old (labels/O) has no definition file any more');
    expect(page.match(/<details>/g)).toHaveLength(3);
    expect(rows.map(reportable).map(({ level, rule, message }) => [level, rule, message])).toEqual([
      ['pass', 'difference', 'Contract matches the file'],
      ['fail', 'difference', 'Contract is new: 2 changes, 0 made by others'],
      ['fail', 'difference', 'Contract is changed: 1 change, 1 made by others'],
      ['fail', 'drift', 'Contract is drifted: 1 change, 1 made by others'],
    ]);
  });
});

test('a run without changes reports its first failure; a run with changes is partial', () => {
  const context = { isDryRun: false } as Context;
  const done = {
    action: 'update',
    title: 'T',
    name: 'labels/L',
    published: false,
    sent: 1,
    requests: 1,
    changes: [],
    notes: [],
  } as never;
  const failure = new AppError('refused', 'no');
  const exitOf = (result: object): unknown => (result as { exit?: unknown }).exit;
  expect(() => applyResult(context, { done: [], failures: [failure, failure] } as never)).toThrow(failure);
  expect(exitOf(applyResult(context, { done: [done], failures: [failure] } as never))).toBe('partial');
  expect(exitOf(applyResult(context, { done: [done], failures: [] } as never))).toBeUndefined();
  expect(exitOf(applyResult(context, { done: [], failures: [] } as never))).toBeUndefined();
});

test('every duplicate definition is reported with the position of the first one', () => {
  const context = contextWith({ host: { cwd: '/place' } });
  const problemsOf = (...texts: string[]) => {
    const documents = texts.flatMap((yaml, i) => documentsIn(`${i}.yaml`, yaml));
    try {
      return parseDesiredLabels(context, documents).map(({ path }) => path);
    } catch (error) {
      return (error as AppError).detail.problems?.map(
        ({ path, file, message }) => `${file} ${path} ${message}`,
      );
    }
  };
  expect(problemsOf('title: A\n', 'title: B\n')).toEqual(['/place/0.yaml', '/place/1.yaml']);
  const repeats = (i: number, path: string, said: string, column: number) =>
    `${i}.yaml ${path} repeats "${said}", which is already in 0.yaml:${column}:1`;
  expect(problemsOf('title: A\n', 'title: A\n', 'title: A\n')).toEqual([
    repeats(1, 'title', 'A', 1),
    repeats(2, 'title', 'A', 1),
  ]);
  expect(problemsOf('title: A\nid: x\n', 'title: A\nid: y\n')).toEqual(['/place/0.yaml', '/place/1.yaml']);
  expect(problemsOf('title: A\nid: x\n', 'title: B\nid: x\n')).toEqual([repeats(1, 'id', 'x', 2)]);
  expect(problemsOf('title: A\nkey: x\n', 'title: B\nkey: x\n')).toEqual([repeats(1, 'key', 'x', 2)]);
  expect(problemsOf('title: A\nid: x\n', 'title: A\n')).toEqual([repeats(1, 'title', 'A', 1)]);
});

describe('labels that two runs made at the same time', () => {
  const session = (patch: object) => partlyMade<Session>({ context: patch, options: { admin: false } });
  const made = (state: LiveLabel['state']) => ({ live: label({ id: 'N', state }) }) as never;
  test('the later duplicate is deleted with its pinned revision; a missing one is not a failure', async () => {
    const calls: unknown[] = [];
    const call = async (
      _: unknown,
      { method }: { method: string },
      input: { query?: object; body?: object },
    ) => {
      calls.push([method, input.query ?? input.body]);
      return { revisionId: '8' };
    };
    await deleteDuplicate(session({ call }), made('UNPUBLISHED_DRAFT'));
    expect(calls).toEqual([['DELETE', { 'writeControl.requiredRevisionId': '3' }]]);
    calls.length = 0;
    await deleteDuplicate(session({ call }), made('PUBLISHED'));
    expect(calls).toEqual([
      ['POST', { writeControl: { requiredRevisionId: '3' } }],
      ['DELETE', { 'writeControl.requiredRevisionId': '8' }],
    ]);
    const failing = (error: Error) =>
      deleteDuplicate(session({ call: () => Promise.reject(error) }), made('UNPUBLISHED_DRAFT'));
    await failing(new AppError('not-found', 'gone'));
    await expect(failing(new AppError('refused', 'no'))).rejects.toThrow('no');
    await expect(failing(new Error('bug'))).rejects.toThrow('bug');
  });
});

test('parallel reads throw the error of the first failed item, start no further item, and leave none running', async () => {
  const started: number[] = [];
  let running = 0;
  let failFirst: (error: Error) => void = () => {};
  const first = new Promise<void>((_, reject) => (failFirst = reject));
  const use = async (n: number): Promise<number> => {
    started.push(n);
    running += 1;
    try {
      if (n === 0) await first;
      if (n === 1) throw new Error('the second failed first');
      return n;
    } finally {
      running -= 1;
    }
  };
  const work = inParallel([0, 1, 2, 3], use, 2).catch((error: Error) => error.message);
  await new Promise((resolve) => setImmediate(resolve));
  failFirst(new Error('the first failed'));
  expect(await work).toBe('the first failed');
  expect([started, running]).toEqual([[0, 1], 0]);
});

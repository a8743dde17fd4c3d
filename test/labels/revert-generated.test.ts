/** Each element of a label file is removed, applied, put back, and applied: the service shows the file again. */
import { describe, expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';
import { slice } from '../support/slice.ts';

const FILE = 'labels/a.yaml';
const LOCK = 'labels/labels.lock.yaml';
/** A label with a value for each key that a file may change. */
const whole = {
  title: 'A',
  description: 'Agreements',
  state: 'published',
  copyMode: 'ALWAYS_COPY',
  enabledApps: ['FILES', 'MAIL'],
  permissions: [
    { role: 'EDITOR', email: 'legal@example.com' },
    { role: 'APPLIER', email: 'sales@example.com' },
    { role: 'READER', audience: 'audiences/default' },
  ],
  fields: [
    { name: 'Note', type: 'text', required: true },
    { name: 'Due', type: 'date', dateFormat: 'SHORT_DATE' },
    { name: 'Owners', type: 'user', maxEntries: 3 },
    {
      name: 'Status',
      type: 'selection',
      maxEntries: 2,
      choices: [
        { name: 'Open', description: 'Not signed', badge: { color: '#2255aa', priority: '2' } },
        { name: 'Signed', disabled: { hideInSearch: true, showInApply: false } },
        { name: 'Void' },
      ],
    },
    { name: 'Old', type: 'integer', disabled: true },
  ],
};
type Path = readonly (string | number)[];
type Definition = Readonly<Record<string, any>>;
/** Keys that identify an element or that a service never changes. */
const FIXED = new Set(['title', 'name', 'type', 'role', 'email', 'audience', 'hideInSearch', 'showInApply']);
const pathsOf = (value: unknown, path: Path = []): Path[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...path, Array.isArray(value) ? Number(key) : key];
    return FIXED.has(key) ? [] : [here, ...pathsOf(inner, here)];
  });
};
/** A copy of the definition in which `change` replaces the element of a path; undefined removes it. */
const changeAt = (path: Path, change: (value: any) => unknown): Definition => {
  const copy = structuredClone(whole);
  const last = path.at(-1) ?? '';
  const parent = path.slice(0, -1).reduce<any>((value, key) => value[key], copy);
  const value = change(parent[last]);
  if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return copy;
};
const CLEARED: Readonly<Record<string, unknown>> = {
  description: null,
  enabledApps: [],
  permissions: [],
  fields: [],
  badge: null,
  maxEntries: null,
  required: false,
  disabled: false,
};
const OTHER: Readonly<Record<string, unknown>> = {
  state: 'disabled',
  copyMode: 'DO_NOT_COPY',
  dateFormat: 'LONG_DATE',
  maxEntries: 1,
  color: '#aa2255',
  priority: '1',
};
const paths = pathsOf(whole);
const nameOf = (path: Path): string => path.join('.');
const cells: readonly (readonly [string, Definition])[] = [
  ...paths.map((path) => [`without ${nameOf(path)}`, changeAt(path, () => undefined)] as const),
  ...paths.flatMap((path) => {
    const key = String(path.at(-1));
    return [CLEARED, OTHER]
      .filter((values) => Object.hasOwn(values, key))
      .map(
        (values) =>
          [`with ${nameOf(path)} ${JSON.stringify(values[key])}`, changeAt(path, () => values[key])] as const,
      );
  }),
  ...(['fields', 'permissions'] as const).map(
    (key) => [`with ${key} in reverse order`, changeAt([key], (all: unknown[]) => all.toReversed())] as const,
  ),
];

type Bed = ReturnType<typeof labelsInMemory>;
const writeDefinition = (at: Bed, definition: Definition): Promise<void> =>
  at.write(FILE, `${JSON.stringify(definition, null, 2)}\n`);
/** Applies the definition. Returns false if the plan is refused because the service would reject it. */
const apply = async (at: Bed, definition: Definition): Promise<boolean> => {
  await writeDefinition(at, definition);
  const ran = await at.run(['apply', '-f', 'labels', '--yes', '-o', 'json']);
  if (ran.code === 10) expect([ran.error().code, ran.writes]).toEqual(['PLAN_REFUSED', []]);
  else expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
  return ran.code === 0;
};
const isSame = async (at: Bed, definition: Definition): Promise<boolean> => {
  await writeDefinition(at, definition);
  const ran = await at.run(['diff', '-f', 'labels', '-o', 'json']);
  expect([0, 20]).toContain(ran.code);
  expect(ran.json().labels[0].status === 'same').toBe(ran.code === 0);
  return ran.code === 0;
};
/** What a user sees of the label in the service: without revisions, times and IDs of revisions. */
const shown = (at: Bed): unknown => {
  const { properties, fields = [], lifecycle, enabledAppSettings, appliedLabelPolicy } = at.label('A');
  const part = ({ id, properties: own, lifecycle: state, selectionOptions, ...more }: any): unknown => ({
    id,
    properties: { ...own, insertBeforeField: undefined, insertBeforeChoice: undefined },
    state: [state.state, state.state === 'DISABLED' ? state.disabledPolicy : undefined],
    options: Object.fromEntries(Object.entries(more).filter(([key]) => /Options$/.test(key))),
    selection: selectionOptions?.listOptions,
    choices: selectionOptions?.choices?.map(part),
  });
  const { labelPermissions } = at.send('GET', `/labels/${at.id('A')}/permissions?pageSize=200`);
  return {
    properties,
    state: [lifecycle.state, lifecycle.hasUnpublishedChanges],
    apps: enabledAppSettings,
    policy: appliedLabelPolicy,
    fields: fields.map(part),
    permissions: labelPermissions
      .map(({ role, email, audience }: any) => [role, email, audience].join())
      .toSorted(),
  };
};

describe.each([true, false])('a label file (lock file: %s)', (isLocked) => {
  test.each(slice(cells, 12))('%s is reverted by the whole file', async (name, part) => {
    const at = labelsInMemory();
    const lose = async (): Promise<void> => {
      if (!isLocked && at.read(LOCK) !== undefined) await at.remove(LOCK);
    };
    await apply(at, whole);
    await lose();
    const before = shown(at);
    expect(await isSame(at, whole)).toBe(true);
    const isApplied = await apply(at, part);
    // A published field cannot hold fewer values. Every other part of a file can be changed.
    expect(isApplied).toBe(!/^with .*maxEntries/.test(name));
    await lose();
    expect(await isSame(at, part)).toBe(isApplied);
    const isUnchanged = JSON.stringify(shown(at)) === JSON.stringify(before);
    expect(await isSame(at, whole)).toBe(isUnchanged);
    await apply(at, whole);
    await lose();
    expect(shown(at)).toEqual(before);
    expect(await isSame(at, whole)).toBe(true);
  });
});

type Parts = { readonly field: (name: string) => any; readonly choice: (name: string) => any };
const partsOf = (at: Bed): Parts => {
  const { fields } = at.label('A');
  const named = (all: readonly any[], name: string): any =>
    all.find(({ properties }: any) => properties.displayName === name);
  return {
    field: (name) => named(fields, name),
    choice: (name) => named(named(fields, 'Status').selectionOptions.choices, name),
  };
};
const off = { disabledPolicy: { hideInSearch: false, showInApply: false }, updateMask: '*' };
/** Edits of another user, as requests of one delta. */
const edits: Readonly<Record<string, (parts: Parts) => readonly Record<string, unknown>[]>> = {
  'a description': () => [
    { updateLabel: { properties: { description: 'Other' }, updateMask: 'description' } },
  ],
  'a disabled field': ({ field }) => [{ disableField: { id: field('Note').id, ...off } }],
  'an enabled field': ({ field }) => [{ enableField: { id: field('Old').id } }],
  'a disabled choice': ({ field, choice }) => [
    { disableSelectionChoice: { fieldId: field('Status').id, id: choice('Open').id, ...off } },
  ],
  'an enabled choice': ({ field, choice }) => [
    { enableSelectionChoice: { fieldId: field('Status').id, id: choice('Signed').id } },
  ],
  'another badge': ({ field, choice }) => [
    {
      updateSelectionChoiceProperties: {
        fieldId: field('Status').id,
        id: choice('Open').id,
        properties: { badgeConfig: { priorityOverride: '7' } },
        updateMask: 'badgeConfig.priorityOverride',
      },
    },
  ],
  'an optional field': ({ field }) => [
    {
      updateField: { id: field('Note').id, properties: { required: false }, updateMask: 'required' },
    },
  ],
  'another order': ({ field }) => [
    {
      updateField: {
        id: field('Status').id,
        properties: { insertBeforeField: field('Note').id },
        updateMask: 'insertBeforeField',
      },
    },
  ],
  'an additional field': () => [
    { createField: { field: { properties: { displayName: 'More' }, textOptions: {} } } },
  ],
  'a larger limit': ({ field }) => [
    {
      updateFieldType: {
        id: field('Owners').id,
        userOptions: { listOptions: { maxEntries: 9 } },
        updateMask: 'userOptions.listOptions',
      },
    },
  ],
};
const changeByOthers: Readonly<Record<string, (at: Bed) => void>> = {
  ...Object.fromEntries(
    Object.entries(edits).map(([name, requests]) => [
      name,
      (at: Bed) => at.send('POST', `/labels/${at.id('A')}:delta`, { requests: requests(partsOf(at)) }),
    ]),
  ),
  'a disabled label': (at) => at.send('POST', `/labels/${at.id('A')}:disable`, off),
  'another copy mode': (at) =>
    at.send('POST', `/labels/${at.id('A')}:updateLabelCopyMode`, { copyMode: 'COPY_APPLIABLE' }),
  'no apps': (at) =>
    at.send('POST', `/labels/${at.id('A')}:updateLabelEnabledAppSettings`, {
      enabledAppSettings: { enabledApps: [] },
    }),
  'a deleted permission': (at) => {
    const { labelPermissions } = at.send('GET', `/labels/${at.id('A')}/permissions?pageSize=200`);
    const { name } = labelPermissions.find(({ email }: any) => email === 'sales@example.com');
    at.send('DELETE', `/${name}`);
  },
  'another role': (at) =>
    at.send('PATCH', `/labels/${at.id('A')}/permissions`, { email: 'sales@example.com', role: 'EDITOR' }),
  'an additional permission': (at) =>
    at.send('POST', `/labels/${at.id('A')}/permissions`, { email: 'more@example.com', role: 'READER' }),
};
describe.each([true, false])('changes of other users (lock file: %s)', (isLocked) => {
  test.each(slice(Object.keys(changeByOthers), 8))('%s is a difference that apply reverts', async (name) => {
    const at = labelsInMemory();
    await apply(at, whole);
    if (!isLocked && at.read(LOCK) !== undefined) await at.remove(LOCK);
    const before = shown(at);
    changeByOthers[name]?.(at);
    expect(shown(at)).not.toEqual(before);
    expect(await isSame(at, whole)).toBe(false);
    const ran = await at.run(['apply', '-f', 'labels', '--yes', '--take', 'ours', '-o', 'json']);
    expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
    expect(shown(at)).toEqual(before);
    expect(await isSame(at, whole)).toBe(true);
  });
});
const lockedLabel = ({ path }: { readonly path: string }) =>
  path.includes('/locks') ? { status: 200, json: { labelLocks: [{ name: 'locks/1' }] } } : undefined;
test.each(slice(cells, 12))(
  'a locked label is refused without a change, or reverted: %s',
  async (_, part) => {
    const at = labelsInMemory();
    await apply(at, whole);
    const before = shown(at);
    await writeDefinition(at, part);
    const ran = await at.run(['apply', '-f', 'labels', '--yes', '-o', 'json'], { meanwhile: lockedLabel });
    if (ran.code !== 0) {
      expect([ran.code, ran.error().code, ran.writes]).toEqual([10, 'PLAN_REFUSED', []]);
      expect(shown(at)).toEqual(before);
    }
    await apply(at, whole);
    expect(shown(at)).toEqual(before);
    expect(await isSame(at, whole)).toBe(true);
  },
);

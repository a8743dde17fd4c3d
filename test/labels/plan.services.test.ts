import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type ChoiceDef,
  colorFrom,
  type FieldDef,
  hexFrom,
  type LabelDef,
} from '../../src/labels/definition.ts';
import { definitionOf, liveFrom, fileFrom } from '../../src/labels/from-label.ts';
import { placesFrom } from '../../src/labels/match.ts';
import { definitionFrom } from '../../src/labels/read-files.ts';
import { planFrom } from '../../src/labels/plan.ts';
import { type LabelServer, directly, labelServer } from '../support/labels-server.ts';

let server: LabelServer;
beforeAll(async () => {
  server = await labelServer();
});

const name = fc.constantFrom(...'abcdefghijkl').map((letter) => `Part ${letter}`);
const choice: fc.Arbitrary<ChoiceDef> = fc.record(
  {
    name,
    description: fc.string({ minLength: 1, maxLength: 8 }),
    badge: fc
      .record(
        { color: fc.constantFrom('#ff0000', '#12ab9f'), priority: fc.constantFrom('1', '77') },
        { requiredKeys: [] },
      )
      .filter((badge) => Object.keys(badge).length > 0),
  },
  { requiredKeys: ['name'] },
);
const choices = fc.uniqueArray(choice, { selector: (c) => c.name, maxLength: 5 });
const base = { name, required: fc.boolean() };
const field: fc.Arbitrary<FieldDef> = fc.oneof(
  fc.record({
    ...base,
    type: fc.constantFrom('text' as const, 'integer' as const),
  }),
  fc.record({
    ...base,
    type: fc.constant('date' as const),
    dateFormat: fc.constantFrom('SHORT_DATE', 'LONG_DATE'),
  }),
  fc.record(
    {
      ...base,
      type: fc.constant('user' as const),
      maxEntries: fc.integer({ min: 1, max: 10 }),
    },
    { requiredKeys: ['name', 'required', 'type'] },
  ),
  fc.record(
    {
      ...base,
      type: fc.constant('selection' as const),
      choices,
      maxEntries: fc.integer({ min: 1, max: 10 }),
    },
    { requiredKeys: ['name', 'required', 'type', 'choices'] },
  ),
);
/** Completes a definition so that it sets every member: absent members become null, false or empty. */
const complete = (def: LabelDef): LabelDef => ({
  ...def,
  description: def.description ?? null,
  fields: (def.fields ?? []).map((one) => ({
    ...one,
    required: one.required ?? false,
    disabled: one.disabled ?? false,
    ...(one.type === 'user' || one.type === 'selection' ? { maxEntries: one.maxEntries ?? null } : {}),
    ...(one.type === 'selection'
      ? {
          choices: (one.choices ?? []).map((each) => ({
            ...each,
            description: each.description ?? null,
            badge: each.badge ?? null,
            disabled: each.disabled ?? false,
          })),
        }
      : {}),
  })),
});
const label = (): fc.Arbitrary<LabelDef> => labels.map(complete);
const labels: fc.Arbitrary<LabelDef> = fc.record(
  {
    title: fc.constant('Random'),
    type: fc.constant('SHARED'),
    description: fc.string({ minLength: 1, maxLength: 10 }),
    fields: fc.uniqueArray(field, { selector: (f) => f.name, maxLength: 6 }),
  },
  { requiredKeys: ['title', 'type', 'fields'] },
);

/** A definition without ids, as a user writes it. */
const said = (def: LabelDef): unknown =>
  JSON.parse(
    JSON.stringify(fileFrom(def), (key, value) =>
      ['id', 'copyMode', 'enabledApps', 'state'].includes(key) ? undefined : value,
    ),
  );

test('one delta converts any draft into any other, the second plan is empty, and no plan is rejected', () => {
  const send = directly(server.env);
  const live = (id: string) => liveFrom(send('GET', `/labels/${id}?view=LABEL_VIEW_FULL`).json);
  fc.assert(
    fc.property(label(), label(), (first, second) => {
      const { json } = send('POST', '/labels', planFrom(first, undefined, { prune: true }).create);
      expect(said(definitionOf(live(json.id)))).toEqual(said(first));
      const plan = planFrom(second, live(json.id), { prune: true });
      expect(plan.problems).toEqual([]);
      if (plan.edits.length > 0)
        expect(send('POST', `/labels/${json.id}:delta`, { requests: plan.edits })).toMatchObject({
          status: 200,
        });
      expect(said(definitionOf(live(json.id)))).toEqual(said(second));
      expect(planFrom(second, live(json.id), { prune: true }).action).toBe('none');
      send('DELETE', `/labels/${json.id}`);
    }),
    { numRuns: 150 },
  );
});

test("the service's own JSON has a revision only if it names one", () => {
  const of = (json: object) => definitionFrom({ properties: { title: 'A' }, ...json }).definition;
  expect(of({ revisionId: '7' }).revision).toBe('7');
  expect(of({})).not.toHaveProperty('revision');
});

test('a new number of entries has its own edit, and the choices have separate edits', () => {
  const send = directly(server.env);
  const parties = {
    name: 'Parties',
    required: false,
    type: 'selection',
    choices: [{ name: 'Ours' }],
  } as const;
  const drafted = (maxEntries: number): LabelDef =>
    complete({ title: 'Entries', type: 'SHARED', fields: [{ ...parties, maxEntries }] });
  const { json } = send('POST', '/labels', planFrom(drafted(2), undefined, { prune: true }).create);
  const live = liveFrom(send('GET', `/labels/${json.id}?view=LABEL_VIEW_FULL`).json);
  const { edits } = planFrom(drafted(3), live, { prune: true });
  expect(edits).toEqual([
    {
      updateFieldType: {
        id: live.fields[0]?.id,
        selectionOptions: { listOptions: { maxEntries: 3 } },
        updateMask: 'selectionOptions.listOptions',
      },
    },
  ]);
  send('DELETE', `/labels/${json.id}`);
});

test('a plan for any published label is rejected completely, or its delta is accepted and correct', () => {
  const send = directly(server.env);
  const live = (id: string) => liveFrom(send('GET', `/labels/${id}?view=LABEL_VIEW_FULL`).json);
  fc.assert(
    fc.property(label(), label(), fc.boolean(), (first, second, prune) => {
      const { json } = send('POST', '/labels', planFrom(first, undefined, { prune }).create);
      send('POST', `/labels/${json.id}:publish`, {});
      const plan = planFrom(second, live(json.id), { prune });
      const tooMany =
        (second.fields ?? []).length +
          (first.fields ?? []).filter((f) => !second.fields?.some((s) => s.name === f.name)).length >
        10;
      if (plan.problems.length === 0 && plan.edits.length > 0 && !(tooMany && !prune)) {
        expect(send('POST', `/labels/${json.id}:delta`, { requests: plan.edits })).toMatchObject({
          status: 200,
        });
        expect(planFrom(second, live(json.id), { prune }).action).toBe('none');
        const names = live(json.id)
          .fields.filter((f) => !f.disabled)
          .map((f) => f.name);
        expect(names).toEqual(second.fields?.map((f) => f.name));
      }
      send('DELETE', `/labels/${json.id}`);
    }),
    { numRuns: 150 },
  );
});

test('a definition read back from its file is the same', () => {
  fc.assert(
    fc.property(label(), (def) => {
      expect(fileFrom(definitionFrom(JSON.parse(JSON.stringify(fileFrom(def)))).definition)).toEqual(
        fileFrom(def),
      );
    }),
  );
});

test('an empty badge in the file or in the service counts as missing, so no change is needed', () => {
  const send = directly(server.env);
  const withChoice = (badge: object) => ({
    name: 'Part',
    type: 'selection',
    choices: [{ name: 'One', ...badge }],
  });
  const wanted = (badge: object) =>
    definitionFrom({ title: 'Badges', fields: [withChoice(badge)] }).definition;
  const { json } = send('POST', '/labels', {
    labelType: 'SHARED',
    properties: { title: 'Badges' },
    fields: [
      {
        properties: { displayName: 'Part' },
        selectionOptions: { choices: [{ properties: { displayName: 'One', badgeConfig: {} } }] },
      },
    ],
  });
  const live = liveFrom(send('GET', `/labels/${json.id}?view=LABEL_VIEW_FULL`).json);
  for (const badge of [{}, { badge: {} }, { badge: { priority: '0' } }]) {
    expect(wanted(badge).fields?.[0]?.choices?.[0]?.badge ?? null).toBeNull();
    expect(planFrom(wanted(badge), live, { prune: true }).action).toBe('none');
  }
  expect(planFrom(wanted({ badge: '#ff0000' }), live, { prune: true }).edits).toHaveLength(1);
});

describe('order', () => {
  test('the plan moves the minimal number of parts', () => {
    const moved = placesFrom(['d', 'a', 'b', 'c'], ['a', 'b', 'c', 'd']).map((p) => p.isMoved);
    expect(moved).toEqual([true, false, false, false]);
  });
  test('a new part goes before the next one that exists', () => {
    expect(placesFrom([undefined, 'a', undefined], ['a'])).toEqual([
      { before: 'a', isMoved: false },
      { before: '', isMoved: false },
      { before: '', isMoved: false },
    ]);
  });
});

test('colors survive the way to the service and back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (n) => {
      const hex = `#${n.toString(16).padStart(6, '0')}`;
      expect(hexFrom(colorFrom(hex))).toBe(hex);
    }),
  );
  expect(hexFrom(colorFrom('#11223380'))).toBe('#11223380');
  expect(hexFrom({ green: 1 })).toBe('#00ff00');
});

test('ambiguous names in the service want an id', () => {
  const live = liveFrom({
    id: 'x',
    fields: [
      { id: 'a', properties: { displayName: 'F' }, textOptions: {} },
      { id: 'b', properties: { displayName: 'F' }, textOptions: {} },
    ],
  });
  const wanted: LabelDef = {
    title: '',
    type: '',
    fields: [{ name: 'F', type: 'text', required: false, choices: [] }],
  };
  expect(planFrom(wanted, live, { prune: false }).problems).toMatchObject([
    { message: '"F" is the name of 2 parts: a, b', hint: 'give the id' },
  ]);
});

test('a removed field and a new one of its type cause a hint about renaming', () => {
  const live = liveFrom({
    id: 'x',
    fields: [
      { id: 'a', properties: { displayName: 'Old' }, textOptions: {}, lifecycle: { state: 'PUBLISHED' } },
    ],
  });
  const wanted: LabelDef = {
    title: '',
    type: '',
    fields: [{ name: 'New', type: 'text', required: false, choices: [] }],
  };
  expect(planFrom(wanted, live, { prune: false }).notes).toEqual([
    'if field Old is to be renamed to New, write `was: Old` in the file',
  ]);
});

import { expect, test } from 'vitest';
import type { ChoiceDef, FieldDef, LabelDef, LiveChoice } from '../../src/labels/definition.ts';
import {
  inDeployment,
  labelKey,
  LockIndex,
  newLabelKey,
  recordFrom,
  slugOf,
} from '../../src/labels/lock-entries.ts';
import { label, option, text } from '../support/live-labels.ts';

const selection = (...choices: LiveChoice[]) => text('S', { type: 'selection', choices });
const wants = (...choices: ChoiceDef[]): LabelDef => ({
  title: 'Contract',
  fields: [{ name: 'S', type: 'selection', choices }],
});
/** Returns the keys of choices with their ids. */
const choices = (wanted: LabelDef, ...live: LiveChoice[]) => {
  const found = recordFrom(wanted, label({ fields: [selection(...live)] }), undefined, 'd').fields['s']
    ?.choices;
  return found && Object.fromEntries(Object.entries(found).map(([key, { id }]) => [key, id]));
};

test('a choice is recorded under its key, its ID in another deployment, or its name', () => {
  const live = option('x', { id: 'xx' });
  expect(choices(wants({ name: 'x' }), live)).toEqual({ x: 'xx' });
  expect(choices(wants({ name: 'x', key: 'k' }), live)).toEqual({ k: 'xx' });
  expect(choices(wants({ name: 'x', key: 'k', id: 'xx' }), live)).toEqual({ k: 'xx' });
  expect(choices(wants({ name: 'x', id: 'there' }), live)).toEqual({ there: 'xx' });
  expect(choices(wants({ name: '日本' }), option('日本', { id: 'jp' }))).toEqual({ jp: 'jp' });
  // An id in the file is itself the link; a choice that is not in the file has no record.
  expect(choices(wants({ name: 'x', id: 'xx' }), live)).toBeUndefined();
  expect(choices(wants({ name: 'x' }), live, option('y'))).toEqual({ x: 'xx' });
  expect(choices(wants({ name: 'z' }), live)).toBeUndefined();
});

test('names that make one key get numbers', () => {
  const live = ['A b', 'A-b', 'a B'].map((name) => option(name));
  expect(choices(wants(...live.map(({ name }) => ({ name }))), ...live)).toEqual({
    ...{ 'a-b': 'id-A b', 'a-b-2': 'id-A-b', 'a-b-3': 'id-a B' },
  });
  const fields = ['A b', 'A-b', 'a B', '日'].map((name) => text(name));
  const record = recordFrom({ title: 'Contract' }, label({ fields }), undefined, 'd');
  expect(Object.keys(record.fields)).toEqual(['a-b', 'a-b-2', 'a-b-3', 'id-日']);
});

test('a record is found again by the id of any deployment, then by the name, here first', () => {
  const of = (fields: FieldDef[], id: string) =>
    recordFrom({ title: 'Contract', fields }, label({ fields: [text('A', { id })] }), undefined, 'd');
  const before = {
    deployments: {
      there: of([{ name: 'A', type: 'text', key: 'elsewhere' }], 'tt'),
      here: of([{ name: 'A', type: 'text', key: 'own' }], 'hh'),
    },
  };
  const keysOf = (wanted: FieldDef[], live = text('A', { id: 'hh' })) =>
    Object.keys(
      recordFrom({ title: 'Contract', fields: wanted }, label({ fields: [live] }), before, 'here').fields,
    );
  expect(keysOf([{ name: 'A', type: 'text' }])).toEqual(['own']);
  expect(keysOf([{ name: 'A', type: 'text', key: 'new' }])).toEqual(['new']);
  expect(keysOf([])).toEqual(['own']);
  expect(keysOf([{ name: 'Z', type: 'text' }], text('Z', { id: 'tt' }))).toEqual(['z']);
  expect(keysOf([], text('Z', { id: 'tt' }))).toEqual(['elsewhere']);
  expect(keysOf([{ name: 'Z', type: 'text', was: 'A', id: 'hh' }], text('Z', { id: 'hh' }))).toEqual(['own']);
});

test('values of a record about a label', () => {
  const live = label({
    ...{ id: 'L', title: 'T', revisionId: '7', state: 'DISABLED', copyMode: 'ALWAYS_COPY' },
    enabledApps: ['MAIL'],
  });
  const record = recordFrom({ title: 'T' }, live, undefined, 'd');
  expect(record).toEqual({
    ...{ id: 'L', title: 'T', revision: '7', state: 'DISABLED', copyMode: 'ALWAYS_COPY' },
    ...{ enabledApps: ['MAIL'], digest: expect.stringMatching(/^[0-9a-f]{12}$/), fields: {} },
  });
});

test('only parts of the deployment get its IDs; parts with IDs stay unchanged', () => {
  const deployments = {
    here: recordFrom(
      wants({ name: 'x' }),
      label({ id: 'H', fields: [selection(option('x'))] }),
      undefined,
      'here',
    ),
    there: recordFrom(
      { title: 'Contract', fields: [{ name: 'T', type: 'text' }] },
      label({ id: 'T', fields: [text('T')] }),
      undefined,
      'there',
    ),
  };
  const wanted: LabelDef = {
    title: 'Contract',
    fields: [
      { name: 'S', type: 'selection', id: 'id-S', choices: [{ name: 'x', id: 'id-x' }, { name: 'y' }] },
      { name: 'T', type: 'text' },
      { name: 'N', type: 'text', key: 'n' },
      { name: 'S', type: 'selection' },
    ],
  };
  const found = inDeployment(wanted, { deployments }, 'here').fields ?? [];
  expect(found).toEqual([
    wanted.fields?.[0],
    wanted.fields?.[1],
    wanted.fields?.[2],
    { name: 'S', type: 'selection', id: 'id-S' },
  ]);
  expect(found[0]?.choices?.[0]).toBe(wanted.fields?.[0]?.choices?.[0]);
});

test('a label is searched in this deployment first, by every value of its record', () => {
  const record = (id: string, title: string) => ({
    ...recordFrom({ title }, label(), undefined, 'd'),
    id,
    title,
  });
  const lock = {
    labels: {
      far: { file: 'b.yaml', deployments: { there: record('1', 'A') } },
      near: { deployments: { here: record('2', 'A'), there: record('3', 'B') } },
    },
  };
  const index = new LockIndex(lock, 'here');
  const key = (wanted: Partial<LabelDef>, file?: string) => labelKey(index, { title: '', ...wanted }, file);
  expect(key({ title: 'A' })).toBe('near');
  expect(key({ title: 'B' })).toBe('near');
  expect(key({ title: 'A', id: '1' })).toBe('far');
  expect(key({ title: 'new', was: 'A' })).toBe('near');
  expect(key({ title: 'new', was: 'none' }, 'b.yaml')).toBe('far');
  expect(labelKey(new LockIndex({ labels: {} }, 'here'), { title: 'A' }, undefined)).toBeUndefined();
  for (const taken of ['far-2', 'far-3']) index.reserve(taken);
  expect(newLabelKey(index, { title: 'Far' })).toBe('far-4');
});

test('a key has small letters, digits and single hyphens, eighty at most', () => {
  expect(['  A  B ', 'Ä.ö/ß', '--x--', '1 & 2', '', '!'].map(slugOf)).toEqual([
    ...['a-b', 'a-o', 'x', '1-2'],
    ...['', ''],
  ]);
  expect(slugOf(`${'a'.repeat(79)}bc`)).toBe(`${'a'.repeat(79)}b`);
});

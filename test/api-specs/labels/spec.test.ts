import { expect, test } from 'vitest';
import { type Field, type ObjectField, bare } from '../../../src/core/field.ts';
import { type Operation, operations } from '../../../src/core/operation.ts';
import { labelsService } from '../../../src/api-specs/labels/labels.ts';
import { readSpec } from '../../spec/read.ts';

/** The rows against the tables that another hand transcribed from the document and the facts. */
const rows = operations(labelsService.table);
const list = (text: string | undefined): string[] =>
  text === undefined || text === '' ? [] : text.split('|');
const at = (method: string | undefined, path: string | undefined): Operation | undefined =>
  rows.find(({ operation }) => operation.method === method && operation.path === path)?.operation;

test('the 26 rows have the transcribed method, path, query, body and response', () => {
  const spec = readSpec('labels-endpoints');
  expect(rows).toHaveLength(26);
  expect(new Set(rows.map(({ operation }) => `${operation.method} ${operation.path}`)).size).toBe(26);
  for (const line of spec) {
    const operation = at(line.method, line.path);
    expect({
      id: line.id,
      query: Object.keys(operation?.query ?? {}).sort(),
      body: operation?.bodyName ?? '',
      ok: operation?.ok,
    }).toEqual({
      id: line.id,
      query: list(line.query),
      body: line.body,
      ok: 200,
    });
    expect((operation?.returns as ObjectField | undefined)?.name).toBe(line.response);
  }
});

test('query parameters have the transcribed types, words and defaults', () => {
  const endpoints = new Map(readSpec('labels-endpoints').map((line) => [line.id, line]));
  for (const line of readSpec('labels-query')) {
    const endpoint = endpoints.get(line.id);
    const field = at(endpoint?.method, endpoint?.path)?.query?.[line.parameter ?? ''];
    const type = field?.type === 'integer' ? 'int32' : field?.type;
    expect({
      id: line.id,
      parameter: line.parameter,
      type,
      words: field?.type === 'string' ? (field.enum ?? []) : [],
      default: String(field?.default ?? ''),
    }).toEqual({
      id: line.id,
      parameter: line.parameter,
      type: line.type,
      words: list(line.enum),
      default: line.default,
    });
  }
});

/** Returns every named schema that a row references. */
const schemas = new Map<string, ObjectField>();
const walk = (outer: Field): void => {
  const field = bare(outer);
  if (field.type === 'array') walk(field.items);
  if (field.type !== 'object') return;
  if (field.name !== undefined) schemas.set(field.name, field);
  for (const member of Object.values(field.fields)) walk(member);
};
for (const { operation } of rows) {
  if (operation.returns) walk(operation.returns);
  if (operation.body) walk({ type: 'object', name: operation.bodyName ?? '', fields: operation.body });
}
// The create row demands members that Label itself does not.
if (labelsService.table.labels.get.returns) walk(labelsService.table.labels.get.returns);

const typeText = (outer: Field): string => {
  const field = bare(outer);
  if (field.type === 'array') return `${typeText(field.items)}[]`;
  if (field.type === 'object') return field.name ?? 'object';
  if (field.type === 'integer') return `integer ${field.format}`;
  if (field.type === 'number') return `number ${field.format}`;
  return field.type === 'string' && field.format !== undefined ? `string ${field.format}` : field.type;
};
const flagsOf = (field: Field): string =>
  [
    field.inputOnly ? 'input' : '',
    field.outputOnly ? 'output' : '',
    field.required || field.needed ? 'required' : '',
  ]
    .filter((f) => f !== '')
    .join('|');

test('88 schemas with 292 fields of the transcribed types, flags and words', () => {
  const lines = readSpec('labels-schemas');
  const fields = lines.filter((line) => line.field !== '');
  expect(fields).toHaveLength(292);
  expect([...schemas.keys()].sort()).toEqual([...new Set(lines.map((line) => line.schema))].sort());
  for (const line of fields) {
    const field = schemas.get(line.schema ?? '')?.fields[line.field ?? ''];
    const words = field?.type === 'string' ? field : undefined;
    expect({
      of: `${line.schema}.${line.field}`,
      type: field && typeText(field),
      flags: field && flagsOf(field),
      words: words?.enum ?? [],
      open: words?.open ? 'open' : '',
    }).toEqual({
      of: `${line.schema}.${line.field}`,
      type: line.type,
      flags: line.flags,
      words: list(line.enum),
      open: line.open === '' ? '' : 'open',
    });
  }
});

test('oneofs: at most one principal, one kind of edit, one type of field', () => {
  expect(schemas.get('LabelPermission')?.exclusive).toEqual([['person', 'group', 'audience']]);
  expect(schemas.get('DeltaUpdateLabelRequestRequest')?.exclusive?.[0]).toHaveLength(12);
  expect(schemas.get('Field')?.exclusive?.[0]).toHaveLength(5);
});

import { describe, expect, test } from 'vitest';
import { type Field, type Fields, bare } from '../../src/core/field.ts';
import { type Operation, operations } from '../../src/core/operation.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { readSpec } from '../spec/read.ts';

const all = operations(tracker.table);
const rows = all.filter(({ operation }) => !operation.extension);
const nameOf = ({ method, path }: { method?: string; path?: string }): string => `${method} ${path}`;
const byName = new Map(rows.map(({ operation }) => [nameOf(operation), operation]));
const endpoints = readSpec('tracker-endpoints');
const inputs = readSpec('tracker-inputs');

/** Formats a field as the document writes its type. */
const typeOf = (outer: Field): string => {
  const field = bare(outer);
  if (field.type === 'array') return `[${typeOf(field.items)}]`;
  if (field.type === 'object') return 'object';
  if (field.type !== 'string')
    return { integer: 'int', boolean: 'bool', number: 'num', file: 'file', any: 'any', map: 'map' }[
      field.type
    ];
  if (field.enum) return 'enum';
  return field.format && field.format !== 'url' ? field.format : 'str';
};
/** The names of described shapes count as objects. */
const documented = (type: string): string =>
  ['CreateStoryContents', 'UpdateStoryContents', 'KeyResultValue'].includes(type) ? 'object' : type;

const shape = (operation: Operation, where: string, name: string, field: Field) => {
  const inner = bare(field);
  const isEnum = inner.type === 'string' && inner.enum !== undefined;
  return {
    input: `${nameOf(operation)} ${where} ${name}`,
    type: typeOf(field),
    max: 'max' in inner && inner.max !== undefined ? String(inner.max) : '',
    required: field.required ? 'yes' : '',
    nullable: field.nullable ? 'yes' : '',
    enum: isEnum ? [...(inner.enum ?? [])].sort().join('|') : '',
    default: field.default === undefined ? '' : String(field.default),
    deprecated: field.deprecated === undefined ? '' : 'yes',
  };
};
const inputShapes = (operation: Operation) => {
  const where = operation.encoding === 'multipart' ? 'multipart' : 'body';
  return [
    ...Object.entries(operation.query ?? {}).map(([name, field]) => shape(operation, 'query', name, field)),
    ...Object.entries(operation.body ?? {}).map(([name, field]) => shape(operation, where, name, field)),
  ];
};
/** Defaults that depend on the time or on the owner of the token are behavior, which tests check on the mock server. */
const stated = (text: string): string => (text === 'creation time' || text === 'token owner' ? '' : text);
const specShapes = inputs.map((row) => ({
  input: `${nameOf(row)} ${row.where} ${row.field}`,
  type: documented(row.type ?? ''),
  max: row.max,
  required: row.required,
  nullable: row.nullable,
  enum: (row.enum ?? '').split('|').sort().join('|'),
  default: stated(row.default ?? ''),
  deprecated: row.deprecated,
}));
const sorted = <T extends { input: string }>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (a.input < b.input ? -1 : 1));

test('the rows are the transcribed endpoints, method and path, no more and no fewer', () => {
  const transcribed = new Set(endpoints.map(nameOf));
  const untranscribed = [...byName.keys()].filter((name) => !transcribed.has(name));
  const missing = [...transcribed].filter((name) => !byName.has(name));
  expect([
    ...untranscribed.map((name) => `${name}: add its line to test/spec/tracker-endpoints.tsv`),
    ...missing.map((name) => `${name}: add its row to the table in src/api-specs/tracker/`),
  ]).toEqual([]);
});

/** The inputs that a row of the text limits names: `epic name` is the name of `/epics`, `external_id` that of every record. */
const inputsOfText = (text: string) => {
  const words = text.split(' ');
  const field = words.at(-1) === 'text' ? 'text' : (words.at(-1) ?? '');
  const record = text === 'comment text' ? 'comment' : words.slice(0, -1).join(' ');
  const path =
    { category: 'categories', template: 'entity-templates' }[record] ?? record.replaceAll(' ', '-');
  return inputs.filter(
    (row) =>
      row.where !== 'query' &&
      row.max !== '' &&
      (row.field === field || (field === 'url' && /url$/.test(row.field ?? ''))) &&
      (record === '' || (row.path ?? '').includes(`/${path}`)),
  );
};
const textLimits = readSpec('tracker-text-limits').map(({ text = '', max }) => [text, Number(max)] as const);
test.each(textLimits)('%s has the stated limit of its text', (text, max) => {
  const named = inputsOfText(text);
  expect(named.length).toBeGreaterThan(0);
  // The document also states smaller limits for descriptions of single records.
  const limits = named.map((row) => Number(row.max));
  if (text === 'description') expect(Math.max(...limits)).toBe(max);
  else expect(new Set(limits)).toEqual(new Set([max]));
});

test('no two rows of the whole table have the same method and path', () => {
  const names = all.map(({ operation }) => nameOf(operation));
  expect(new Set(names).size).toBe(names.length);
});

describe.each(endpoints)('$method $path', (row) => {
  const operation = byName.get(nameOf(row)) as Operation;
  test(`the row returns ${row.status} ${row.success}, ${row.deprecated === 'yes' ? 'deprecated' : 'current'}`, () => {
    expect(operation.ok).toBe(Number(row.status));
    expect(operation.deprecated !== undefined).toBe(row.deprecated === 'yes');
    const returns = operation.returns;
    // spec/tracker: "Response body of GET webhook integration: not shown".
    if (row.path === '/integrations/webhook/{integration-public-id}') return;
    const named = (field: Field): string => {
      if (field.type === 'array') return `[${named(field.items)}]`;
      if (field.type === 'ref') return field.name;
      return field.type === 'object' ? (field.name ?? '') : field.type;
    };
    expect(returns === undefined ? '' : named(returns)).toBe(
      row.success === 'Search result' ? 'SearchResults' : row.success,
    );
  });
  test('names the errors that the document adds', () => {
    const extra = (row.extra ?? '').match(/\w+Error/g) ?? [];
    expect((operation.errors ?? []).filter((name) => name.endsWith('Error'))).toEqual(extra);
  });
  test('the row has the path parameters with the types of the document', () => {
    const names = [...(row.path ?? '').matchAll(/\{([^}]*)\}/g)].map((match) => match[1] ?? '');
    const uuidParams = ['custom-field', 'entity-template', 'group', 'health', 'key-result', 'member'].map(
      (word) => `${word}-public-id`,
    );
    expect(
      Object.entries((operation.params ?? {}) as Fields).map(([name, field]) => [
        name,
        typeOf(field),
        field.required,
      ]),
    ).toEqual(names.map((name) => [name, uuidParams.includes(name) ? 'uuid' : 'int', true]));
  });
});

/** Inputs that the vendor's tools send with a documented row although the document does not list them (spec/tracker#documents-3). */
const beyondTheDocument = ['POST /documents body content_format'];

test('every input is as transcribed: type, limit, required, null, values, default, deprecation; both directions', () => {
  // spec/tracker: "Query parameters of the search: not shown" (spec/tracker#search gives them).
  const found = rows
    .filter(({ operation }) => operation.path !== '/search')
    .flatMap(({ operation }) => inputShapes(operation));
  const isBeyond = ({ input }: { input: string }): boolean => beyondTheDocument.includes(input);
  expect(sorted(found.filter((one) => !isBeyond(one)))).toEqual(sorted(specShapes));
  // A client that knows only the document omits them.
  expect(found.filter(isBeyond).map(({ input, required }) => [input, required])).toEqual(
    beyondTheDocument.map((input) => [input, '']),
  );
});

test('the row has every stated minimum', () => {
  const withMin = inputs.filter((row) => row.min !== '');
  expect(withMin.length).toBeGreaterThan(0);
  for (const row of withMin) {
    const field = bare((byName.get(nameOf(row))?.query ?? {})[row.field ?? ''] as Field);
    expect('min' in field ? field.min : undefined, `${nameOf(row)} ${row.field}`).toBe(Number(row.min));
  }
});

/** Field names of a record or input, nested ones as the transcription writes them: `values[].id`. */
const flat = (fields: Fields, prefix: string, seen: readonly Fields[] = []): [string, string][] =>
  Object.entries(fields).flatMap(([name, field]): [string, string][] => {
    const at = `${prefix}${name}`;
    const inner = bare(field);
    const below = inner.type === 'array' ? bare(inner.items) : inner;
    const deeper =
      below.type === 'object' && !seen.includes(below.fields)
        ? flat(below.fields, `${at}${inner.type === 'array' ? '[]' : ''}.`, [...seen, below.fields])
        : [];
    return [[at, typeOf(field)], ...deeper];
  });

test('nested inputs have the transcribed fields', () => {
  const body = (name: string, field: string): Fields => {
    const inner = bare((byName.get(name)?.body ?? {})[field] as Field);
    const below = inner.type === 'array' ? bare(inner.items) : inner;
    return below.type === 'object' ? below.fields : {};
  };
  const places: Record<string, Fields> = {
    CreateStoryContents: body('POST /entity-templates', 'story_contents'),
    UpdateStoryContents: body('PUT /entity-templates/{entity-template-public-id}', 'story_contents'),
    'custom field values[]': body('PUT /custom-fields/{custom-field-public-id}', 'values'),
    'epic labels[]': body('POST /epics', 'labels'),
    'iteration labels[]': body('POST /iterations', 'labels'),
    'objective categories[]': body('POST /objectives', 'categories'),
    'milestone categories[]': body('PUT /milestones/{milestone-public-id}', 'categories'),
    KeyResultValue: body('PUT /key-results/{key-result-public-id}', 'target_value'),
  };
  const spec = readSpec('tracker-nested-inputs');
  for (const [schema, fields] of Object.entries(places)) {
    const expected = spec.filter((row) => row.schema === schema).map((row) => [row.field, row.type]);
    expect(flat(fields, '').sort(), schema).toEqual(expected.sort());
  }
  expect([...new Set(spec.map((row) => row.schema))].sort()).toEqual(Object.keys(places).sort());
});

const recordNamed = (name: string): Fields => {
  const seen = new Set<Field>();
  const search = (field: Field): Fields | undefined => {
    const inner = bare(field);
    if (seen.has(inner)) return undefined;
    seen.add(inner);
    if (inner.type === 'array') return search(inner.items);
    if (inner.type !== 'object') return undefined;
    if (inner.name === name) return inner.fields;
    for (const child of Object.values(inner.fields)) {
      const found = search(child);
      if (found) return found;
    }
    return undefined;
  };
  for (const { operation } of rows) {
    const found = operation.returns && search(operation.returns);
    if (found) return found;
  }
  throw new Error(`no row returns ${name}`);
};

const recordNames = [...new Set(readSpec('tracker-records').map((row) => row.record ?? ''))].filter(
  (name) => name !== 'Search result',
);
test.each(recordNames)('record %s has every field of the document, at every depth', (name) => {
  const fields = new Map(flat(recordNamed(name), ''));
  for (const row of readSpec('tracker-records').filter((each) => each.record === name)) {
    const at = `${name}.${row.field}`;
    expect([...fields.keys()], at).toContain(row.field);
    const type = fields.get(row.field ?? '') ?? '';
    const loose =
      /^[A-Z[]/.test(row.type ?? '') || row.type === 'object' || row.type === 'str' || row.type === 'enum';
    if (!loose || row.type === '[uuid]' || row.type === '[int]') expect(type, at).toBe(row.type);
    else if (row.type === 'str') expect(['str', 'color', 'enum', 'date'], at).toContain(type);
  }
});

test('the search returns the four groups with data, next and total', () => {
  const groups = recordNamed('SearchResults');
  expect(Object.keys(groups).sort()).toEqual(['epics', 'iterations', 'milestones', 'stories']);
  for (const group of Object.values(groups)) {
    const inner = bare(group);
    expect(inner.type === 'object' && Object.keys(inner.fields).sort()).toEqual(['data', 'next', 'total']);
  }
});

test('labels embedded in stories and epics contain no stats; those of an iteration do', () => {
  const labelsOf = (name: string): string[] =>
    flat(recordNamed(name), '')
      .map(([field]) => field)
      .filter((field) => field.startsWith('labels[].stats'));
  expect(labelsOf('StorySlim')).toEqual([]);
  expect(labelsOf('EpicSlim')).toEqual([]);
  expect(labelsOf('Iteration').length).toBeGreaterThan(1);
});

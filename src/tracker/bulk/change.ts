import { argumentName } from '../../core/flag.ts';
import { isRecord } from '../../core/shape.ts';
import { hiddenTextProblems } from '../../core/check.ts';
import { inputProblems } from '../../api/request.ts';
import { bare, type Field, type Fields } from '../../core/field.ts';
import { isOddNumber, isWholeNumber, momentOf, wholeNumberHint } from '../../core/format.ts';
import { namesMissingDay } from './presets.ts';
import { formulaProblem } from './csv.ts';
import { isExternal } from './external-keys.ts';
import type { LooseInput, Operation, Resource, Table } from '../../core/operation.ts';
import { type Problem, problem } from '../../core/problem.ts';
import { limits } from '../../core/limits.ts';
import { nearest } from '../../core/text.ts';

/** What one row asks for. */
export type Change = {
  readonly resource: string;
  readonly verb: 'create' | 'update' | 'delete' | 'upsert';
  /** For an upsert the operation that creates the record, until the record was looked up. */
  readonly operation: Operation;
  /** Of an upsert: the operation that changes the record if it exists. */
  readonly update?: Operation;
  /** Sent after a create: fields that only an update accepts, such as `archived`. */
  readonly afterwards?: Readonly<Record<string, unknown>>;
  /** The record before the change, if it was looked up. */
  readonly previous?: Readonly<Record<string, unknown>>;
  readonly input: LooseInput;
  /** Of an upsert: the ID in the row. The record with the key must have this ID. */
  readonly statedId?: unknown;
};
export type Defaults = {
  readonly resource?: string;
  readonly op?: string;
  /** True for `tracker sync`, whose rows can be repeated: a create would make a second record. */
  readonly isSync?: boolean;
};
/** Values are texts (CSV) and take the type of their field, or are JSON already. */
export type Source = 'csv' | 'ndjson';
const VERBS = ['create', 'update', 'delete', 'upsert'] as const;
const OPERATIONS = ['create', 'update', 'delete'] as const;
/** Keys of a row that are not fields. In CSV, only the first four can be columns. */
const COLUMNS = ['op', 'action', 'resource', 'id'] as const;
const OWN: ReadonlySet<string> = new Set([...COLUMNS, 'params', 'body']);
const words: Readonly<Record<string, string>> = {
  add: 'create',
  post: 'create',
  change: 'update',
  put: 'update',
  remove: 'delete',
  sync: 'upsert',
};
/** A cell of a list or an object: JSON, or items with `;` or `|` between them. */
const parseStructured = (inner: Field, value: string, toNumber: (cell: string) => unknown): unknown => {
  if (/^[[{]/.test(value)) {
    try {
      return JSON.parse(value);
    } catch {
      return value;
    }
  }
  return inner.type === 'array'
    ? splitItems(value).map((item) => typeCell(inner.items, item, 'csv', toNumber))
    : value;
};
/** The position after the closing quote of a text whose quotes are doubled; undefined without a closing quote. */
const endOfCellQuotes = (text: string, start: number): number | undefined => {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at + 1;
  return undefined;
};
/** The cell without its texts in quotes. */
const withoutQuoted = (cell: string): string => {
  const parts: string[] = [];
  let end = 0;
  for (let at = cell.indexOf('"'); at >= 0; at = cell.indexOf('"', end)) {
    const after = endOfCellQuotes(cell, at);
    if (after === undefined) break;
    parts.push(cell.slice(end, at));
    end = after;
  }
  return parts.join('') + cell.slice(end);
};
/** The end of an item in quotes at this position. Only a delimiter or the end of the cell may follow the quotes. */
const endOfQuotedItem = (cell: string, start: number, delimiters: string): number | undefined => {
  const after = cell[start] === '"' ? endOfCellQuotes(cell, start) : undefined;
  if (after === undefined) return undefined;
  return delimiters.includes(cell.slice(after).trimStart().charAt(0)) ? after : undefined;
};
/**
 * Items with `;` or `|` between them, or with commas if the cell has neither. `"a;b"` in quotes is one item. Reads at
 * most one item more than a list may have.
 */
const splitItems = (cell: string): string[] => {
  const bareText = withoutQuoted(cell);
  const isByComma = !/[;|]/.test(bareText) && bareText.includes(',');
  const [delimiters, delimiter] = isByComma ? [',', /,/g] : [';|', /[;|]/g];
  const texts: string[] = [];
  for (let at = 0; at < cell.length && texts.length <= limits.listItems; ) {
    const start = at + (/\S/.exec(cell.slice(at))?.index ?? cell.length);
    const after = endOfQuotedItem(cell, start, delimiters);
    delimiter.lastIndex = after ?? at;
    const end = delimiter.exec(cell)?.index ?? cell.length;
    const text =
      after === undefined
        ? cell.slice(at, end).trim()
        : cell.slice(start + 1, after - 1).replaceAll('""', '"');
    if (text !== '') texts.push(text);
    at = end + 1;
  }
  return texts;
};
/** Whether a column holds a list in the rows of a file: only such a column may repeat. */
export const isListColumn = (table: Table, { resource }: Defaults, column: string): boolean => {
  const resources = resource === undefined ? Object.values(table) : [findResource(table, resource)];
  return resources.some((verbs) =>
    OPERATIONS.some((verb) => {
      const body = verbs?.[verb]?.body;
      const field = body !== undefined && Object.hasOwn(body, column) ? body[column] : undefined;
      return field !== undefined && bare(field).type === 'array';
    }),
  );
};
/** The fields that rows of a file may have: those of the default resource, or of every resource. */
export const knownFields = (
  table: Table,
  { resource }: Defaults,
  columns: readonly string[],
): ReadonlySet<string> => {
  const isOne = resource !== undefined && !columns.includes('resource');
  const resources = isOne ? [findResource(table, resource)] : Object.values(table);
  return new Set<string>([
    ...COLUMNS,
    ...resources.flatMap((verbs) =>
      OPERATIONS.flatMap((verb) => [
        ...Object.keys(verbs?.[verb]?.body ?? {}),
        ...Object.keys(verbs?.[verb]?.params ?? {}).flatMap((name) => [name, argumentName(name)]),
      ]),
    ),
  ]);
};
/** Spreadsheets write the words in capitals and in the language of their user. */
const booleans = new Map<string, boolean>([
  ...['true', 'TRUE', 'WAHR', 'VRAI', 'VERDADERO', 'VERO', 'VERDADEIRO', 'WAAR'].map(
    (word) => [word, true] as const,
  ),
  ...['false', 'FALSE', 'FALSCH', 'FAUX', 'FALSO', 'ONWAAR'].map((word) => [word, false] as const),
]);
/** A number as people write it: `0x10`, `1E+05` and `007` show other digits than their value has. */
const isPlainNumber = (value: string): boolean => /^\s*[-+]?(?:0|[1-9]\d*)(?:\.\d+)?\s*$/.test(value);
/** `1.000` is one thousand in one language and one in another, so it stays text. Two points are not a number. */
const hasThousandsMark = (value: string): boolean => /^\s*[-+]?\d{1,3}\.\d{3}\s*$/.test(value);
const numberOf = (value: string): unknown =>
  isPlainNumber(value) && !hasThousandsMark(value) && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER
    ? Number(value)
    : value;
/** An ID in its only form. Any other text may be a name. */
const idOf = (value: string): unknown =>
  isWholeNumber(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;
const typeMoment = (field: Field, value: unknown): unknown => {
  const inner = bare(field);
  return typeof value === 'string' && inner.type === 'string' && inner.format === 'datetime'
    ? momentOf(value)
    : value;
};
/**
 * Converts a cell to the type of its field. A value that does not fit stays text, and the checks of the table
 * report it.
 */
const typeCell = (
  field: Field | undefined,
  value: unknown,
  source: Source,
  toNumber: (cell: string) => unknown,
): unknown => {
  if (field === undefined) return value;
  if (source === 'ndjson') return typeMoment(field, value);
  // Cells of repeated columns: each of them may hold several items.
  if (Array.isArray(value)) return value.flatMap((cell) => typeCell(field, cell, source, toNumber));
  if (typeof value !== 'string') return value;
  if (value === 'null' && field.nullable) return null;
  const inner = bare(field);
  if (inner.type === 'integer' || inner.type === 'number') return toNumber(value);
  if (inner.type === 'boolean') return booleans.get(value) ?? value;
  if (inner.type === 'string') return inner.format === 'datetime' ? momentOf(value) : value;
  return parseStructured(inner, value, toNumber);
};
/** Names of labels are short for inputs: `"labels": ["bug"]` is `[{"name": "bug"}]`. */
const inputs = (name: string, value: unknown): unknown =>
  (name === 'labels' || name === 'categories') && Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? { name: item } : item))
    : value;
/** The parameter that a key of a row names: `story-public-id`, or `story` if the record has no such field. */
const paramOf = ({ params, body = {} }: Operation, key: string): string | undefined => {
  if (params === undefined || Object.hasOwn(params, key)) return params && key;
  const long = `${key}-public-id`;
  return Object.hasOwn(params, long) && !Object.hasOwn(body, key) ? long : undefined;
};
const bodyOf = (
  operation: Operation,
  fields: Fields,
  row: Readonly<Record<string, unknown>>,
  source: Source,
): Record<string, unknown> => {
  const isApart = typeof row.body === 'object' && row.body !== null;
  const given = isApart ? (row.body as Record<string, unknown>) : row;
  const body: Record<string, unknown> = {};
  for (const name in given) {
    if (!isApart && (OWN.has(name) || paramOf(operation, name) !== undefined)) continue;
    const toNumber = /_ids?$/.test(name) ? idOf : numberOf;
    const value = inputs(name, typeCell(fields[name], given[name], source, toNumber));
    if (name !== '__proto__') body[name] = value;
    else Object.defineProperty(body, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return body;
};
const paramsOf = (
  operation: Operation,
  row: Readonly<Record<string, unknown>>,
  source: Source,
): Record<string, unknown> => {
  if (operation.params === undefined) return {};
  return Object.fromEntries(
    Object.keys(operation.params ?? {}).map((name) => {
      const [[, value] = []] = statedParams(operation, row, name);
      return [name, source === 'csv' ? typeCell(operation.params?.[name], value, source, idOf) : value];
    }),
  );
};
/** The places of a row that have a value for a parameter: params, a key with its name, and id for the last one. */
const statedParams = (
  operation: Operation,
  row: Readonly<Record<string, unknown>>,
  name: string,
): (readonly [place: string, value: unknown])[] => {
  const isLast = Object.keys(operation.params ?? {}).at(-1) === name;
  const inside = isRecord(row.params) ? Object.entries(row.params) : [];
  const beside = Object.entries(row).filter(([key]) => !OWN.has(key));
  return [
    ...inside
      .filter(([key]) => paramOf(operation, key) === name)
      .map(([key, value]) => [`params.${key}`, value] as const),
    ...beside.filter(([key]) => paramOf(operation, key) === name),
    ...(isLast ? [['id', row.id] as const] : []),
  ].filter(([, value]) => value !== undefined && value !== null);
};
/** False for a key of a row without content. */
const hasContent = (value: unknown): boolean => value !== undefined && value !== null && value !== '';
/** Values of a row that would go nowhere, and two values for one thing. */
const addressProblems = (
  operation: Operation,
  row: Readonly<Record<string, unknown>>,
  verb: (typeof VERBS)[number],
): Problem[] => {
  const { params } = row;
  if (operation.params === undefined && params === undefined && row.id === undefined) return [];
  if (params !== undefined && params !== null && !isRecord(params))
    return [problem('params', 'type', 'must be an object')];
  const unknown = Object.keys(params ?? {}).filter((key) => paramOf(operation, key) === undefined);
  const names = Object.keys(operation.params ?? {});
  const isNew = verb === 'create' && names.length === 0 && hasContent(row.id);
  return [
    ...unknown.map((key) => {
      const hint = names.length === 0 ? 'remove it' : `the parameters are ${names.join(' and ')}`;
      return problem(`params.${key}`, 'unknown', 'is not a parameter of this operation', hint);
    }),
    ...names.flatMap((name) => {
      const [first, ...others] = statedParams(operation, row, name);
      const other = others.find(([, value]) => String(value) !== String(first?.[1]));
      if (first === undefined || other === undefined) return [];
      const what = `is ${JSON.stringify(other[1])}, but ${first[0]} is ${JSON.stringify(first[1])}`;
      return [problem(other[0], 'rule', what, 'remove one of the two')];
    }),
    ...(isNew
      ? [
          problem(
            'id',
            'rule',
            `is ${JSON.stringify(row.id)}, but the service chooses the ID of a new record`,
            'remove it, read it as a key with --map id=external_id, or write op update to change the record with this ID',
          ),
        ]
      : []),
  ];
};
/** `op` and `action` are two names of one key. */
export const verbIn = (row: Readonly<Record<string, unknown>>, defaults: Defaults): string | Problem => {
  const wordOf = (value: unknown): string => {
    const text = String(value).toLowerCase();
    return words[text] ?? text;
  };
  const { op, action } = row;
  if (hasContent(op) && hasContent(action) && wordOf(op) !== wordOf(action))
    return problem(
      'action',
      'rule',
      `is ${JSON.stringify(action)}, but op is ${JSON.stringify(op)}`,
      'remove one of the two',
    );
  return wordOf([op, action].find(hasContent) ?? defaults.op ?? '');
};
const findResource = (table: Table, name: string): Resource | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
const unknownResource = (table: Table, resource: string): Problem => {
  const close = nearest(resource, Object.keys(table));
  return resource === ''
    ? problem('resource', 'required', 'is required')
    : problem(
        'resource',
        'enum',
        `${JSON.stringify(resource)} is not a resource`,
        close && `did you mean ${close}?`,
      );
};
/** The operations of a verb. An upsert needs a way to create, to change and to find a record. */
const operationsFor = (
  verbs: Resource,
  verb: (typeof VERBS)[number],
): { readonly operation: Operation; readonly update?: Operation } | undefined => {
  if (verb !== 'upsert') return verbs[verb] && { operation: verbs[verb] };
  const { create, update, list, search } = verbs;
  const isFound =
    (list ?? search ?? create?.params?.['story-public-id']) !== undefined &&
    (create?.body?.name ?? create?.body?.external_id ?? update?.body?.external_id) !== undefined;
  return create && update && isFound ? { operation: create, update } : undefined;
};
const unknownVerb = (verbs: Resource, resource: string, asked: string): Problem => {
  const can = VERBS.filter((v) => operationsFor(verbs, v) !== undefined).join(', ');
  return asked === ''
    ? problem('op', 'required', `is required: ${can}`)
    : problem('op', 'enum', `${JSON.stringify(asked)} is not possible for ${resource}; possible: ${can}`);
};
/**
 * In CSV the word null unsets a field. If a field cannot be unset, that word would be stored, possibly in
 * many rows.
 */
const nullsThatCannotBe = (
  { body = {} }: Operation,
  row: Readonly<Record<string, unknown>>,
  source: Source,
): Problem[] =>
  source === 'ndjson'
    ? []
    : Object.keys(body)
        .filter((name) => row[name] === 'null' && body[name]?.nullable !== true)
        .map((name) =>
          problem(
            name,
            'null',
            'cannot be unset',
            'leave the cell empty to keep the field unchanged; NDJSON stores the word null',
          ),
        );
/** Fields next to a body, and a body that is not an object, would go nowhere. */
const bodyProblems = (operation: Operation, row: Readonly<Record<string, unknown>>): Problem[] => {
  const [{ body }, { body: fields }] = [row, operation];
  if (body === undefined || body === null || fields === undefined) return [];
  if (typeof body !== 'object' || Array.isArray(body)) return [problem('body', 'type', 'must be an object')];
  return Object.keys(row)
    .filter((name) => !OWN.has(name) && paramOf(operation, name) === undefined)
    .map((name) => problem(name, 'rule', 'stands next to body', 'move it into body, or remove it'));
};
const formulaProblems = (row: Readonly<Record<string, unknown>>): Problem[] => {
  const found: Problem[] = [];
  for (const name in row)
    for (const cell of Array.isArray(row[name]) ? (row[name] as unknown[]) : [row[name]]) {
      const wrong = formulaProblem(name, cell, '; NDJSON stores this text');
      if (wrong !== undefined) found.push(wrong);
    }
  return found;
};
/** A spreadsheet shows a long number in this form. Its other digits are not in the file. */
const SHORTENED = /^\s*\d(?:[.,]\d+)?E\+\d+\s*$/;
const keyProblems = ({ external_id: key }: Readonly<Record<string, unknown>>, source: Source): Problem[] =>
  source === 'csv' && typeof key === 'string' && SHORTENED.test(key)
    ? [
        problem(
          'external_id',
          'format',
          `is a number that a spreadsheet shortened; got ${JSON.stringify(key)}`,
          'format the column as text and export it again; NDJSON stores this text',
        ),
      ]
    : [];
/** Lists of a row that no record has. Checks and names of so many items would take minutes. */
const longLists = (body: Readonly<Record<string, unknown>>): Problem[] =>
  Object.entries(body).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > limits.listItems
      ? [
          problem(
            name,
            'max',
            `has more than ${limits.listItems} items`,
            'check the quotes and the separators of the row',
          ),
        ]
      : [],
  );
const contentProblems = (body: Readonly<Record<string, unknown>>): Problem[] => {
  const tooLong = longLists(body);
  return tooLong.length > 0 ? tooLong : hiddenTextProblems(body, '');
};
/** The fields that a row of an operation may have. */
const fieldsOf = ({ operation, update }: NonNullable<ReturnType<typeof operationsFor>>): Fields =>
  update === undefined ? (operation.body ?? {}) : { ...update.body, ...operation.body };
/** Everything that is wrong with the shape of a row and with its cells. */
const rowProblems = (
  { operation, update }: { readonly operation: Operation; readonly update?: Operation },
  row: Readonly<Record<string, unknown>>,
  verb: (typeof VERBS)[number],
  source: Source,
): Problem[] => [
  ...nullsThatCannotBe(update ?? operation, row, source),
  ...bodyProblems(operation, row),
  ...addressProblems(operation, row, verb),
  ...(source === 'csv' ? formulaProblems(row) : []),
  ...keyProblems(row, source),
];
/** The change that a checked row asks for, or the contents that no record may have. */
const makeChange = (
  asked: Pick<Change, 'resource' | 'verb' | 'operation' | 'update'>,
  row: Readonly<Record<string, unknown>>,
  source: Source,
): Change | readonly Problem[] => {
  const { operation, verb } = asked;
  const isKeyed = verb === 'upsert' && isExternal(row.id);
  const isStated = verb === 'upsert' && !isKeyed && operation.params === undefined && hasContent(row.id);
  const params = paramsOf(operation, isKeyed ? { ...row, id: undefined } : row, source);
  const body = operation.body && bodyOf(operation, fieldsOf(asked), row, source);
  const unsuitable = contentProblems(body ?? {});
  if (unsuitable.length > 0) return unsuitable;
  return { ...asked, ...(isStated ? { statedId: row.id } : {}), input: body ? { params, body } : { params } };
};
/** A row as a change of the table, or everything that is wrong with it. Pure; ids may still be names. */
export const changeFrom = (
  table: Table,
  row: Readonly<Record<string, unknown>>,
  source: Source,
  defaults: Defaults,
): Change | readonly Problem[] => {
  const resource = String(row.resource ?? defaults.resource ?? '');
  const verbs = findResource(table, resource);
  if (verbs === undefined) return [unknownResource(table, resource)];
  const asked = verbIn(row, defaults);
  if (typeof asked === 'object') return [asked];
  const verb = VERBS.find((v) => v === asked);
  const found = verb && operationsFor(verbs, verb);
  if (verb === undefined || found === undefined) return [unknownVerb(verbs, resource, asked)];
  if (defaults.isSync === true && verb === 'create')
    return [
      problem(
        'op',
        'rule',
        'is create, which a repeated sync would create twice',
        'write upsert, or remove op',
      ),
    ];
  const wrong = rowProblems(found, row, verb, source);
  if (wrong.length > 0) return wrong;
  return makeChange({ resource, verb, ...found }, row, source);
};
/** `01/02/2026` may be a day of January or of February; only one order of `01/31/2026` can be a day. */
const AMBIGUOUS_DAY = /^\s*(?:0?[1-9]|1[0-2])\/(?:0?[1-9]|1[0-2])\/\d{4}\b/;
/** States that the day does not exist, or the setting that decides the order of day and month. */
const withDayOrder = (found: Problem, value: unknown): Problem => {
  if (found.rule === 'format' && typeof value === 'string' && namesMissingDay(value))
    return { ...found, message: `names a day that does not exist; got ${JSON.stringify(value)}` };
  const [day] = (typeof value === 'string' ? AMBIGUOUS_DAY.exec(value) : null) ?? [];
  if (day === undefined || found.rule !== 'format') return found;
  const hint = `the order of day and month in ${day.trim()} is unknown: write date_order: day-first or date_order: month-first in a file for --map-file`;
  return { ...found, hint };
};
/** A spreadsheet and a person write numbers in forms that the service does not have. */
const withNumberForm = (found: Problem, value: unknown): Problem =>
  typeof value === 'string' && found.rule === 'type' && isOddNumber(value)
    ? { ...found, hint: wholeNumberHint }
    : found;
/** The checks of the table, once names have become ids. */
export const changeProblems = ({ operation, input }: Change): Problem[] =>
  inputProblems(operation, input).map((found) =>
    Object.hasOwn(operation.params ?? {}, found.path)
      ? { ...withNumberForm(found, input.params?.[found.path]), path: 'id' }
      : withNumberForm(withDayOrder(found, input.body?.[found.path]), input.body?.[found.path]),
  );

import { type Field, bare } from '../../core/field.ts';
import { nearest } from '../../core/nearest.ts';
import { momentOf } from '../../core/format.ts';
import type { LooseInput, Operation, Resource, Table } from '../../core/operation.ts';
import { type Problem, problem } from '../../core/problem.ts';
import { inputProblems } from '../../api/request.ts';

/** What one row asks for. */
export type Change = {
  readonly resource: string;
  readonly verb: 'create' | 'update' | 'delete';
  readonly operation: Operation;
  readonly input: LooseInput;
};
export type Defaults = { readonly resource?: string; readonly op?: string };
/** Values are texts (CSV) and take the type of their field, or are JSON already. */
export type Source = 'csv' | 'ndjson';

const VERBS = ['create', 'update', 'delete'] as const;
const OWN = new Set(['op', 'action', 'resource', 'id', 'params', 'body']);
const words: Readonly<Record<string, string>> = {
  add: 'create',
  post: 'create',
  change: 'update',
  put: 'update',
  remove: 'delete',
};

/** A cell of a list or an object: JSON, or items with `;` or `|` between them. */
const structured = (inner: Field, value: string): unknown => {
  if (/^[[{]/.test(value)) {
    try {
      return JSON.parse(value);
    } catch {
      return value;
    }
  }
  return inner.type === 'array'
    ? value.split(/[;|]/).map((item) => typed(inner.items, item.trim(), 'csv'))
    : value;
};
/** Whether a column holds a list in the rows of a file: only such a column may repeat. */
export const isListColumn = (table: Table, { resource }: Defaults, column: string): boolean => {
  const resources = resource === undefined ? Object.values(table) : [known(table, resource)];
  return resources.some((verbs) =>
    VERBS.some((verb) => {
      const body = verbs?.[verb]?.body;
      const field = body !== undefined && Object.hasOwn(body, column) ? body[column] : undefined;
      return field !== undefined && bare(field).type === 'array';
    }),
  );
};

/** Spreadsheets write the words in capitals. */
const booleans: Readonly<Record<string, boolean>> = { true: true, false: false, TRUE: true, FALSE: false };
const numberOf = (value: string): unknown =>
  value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;

/** A cell as the type of its field; what does not fit stays the text that it is, and the checks of the table say so. */
const typed = (field: Field | undefined, value: unknown, source: Source): unknown => {
  if (source === 'ndjson' || field === undefined) return value;
  // Cells of repeated columns: each of them may hold several items.
  if (Array.isArray(value)) return value.flatMap((cell) => typed(field, cell, source));
  if (typeof value !== 'string') return value;
  if (value === 'null' && field.nullable) return null;
  const inner = bare(field);
  if (inner.type === 'integer' || inner.type === 'number') return numberOf(value);
  if (inner.type === 'boolean') return Object.hasOwn(booleans, value) ? booleans[value] : value;
  if (inner.type === 'string') return inner.format === 'datetime' ? momentOf(value) : value;
  return structured(inner, value);
};

/** Names of labels stand for inputs: `"labels": ["bug"]` is `[{"name": "bug"}]`. */
const inputs = (name: string, value: unknown): unknown =>
  (name === 'labels' || name === 'categories') && Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? { name: item } : item))
    : value;

const bodyOf = (
  operation: Operation,
  row: Readonly<Record<string, unknown>>,
  source: Source,
): Record<string, unknown> => {
  const isApart = typeof row.body === 'object' && row.body !== null;
  const given = isApart ? (row.body as Record<string, unknown>) : row;
  const names = isApart ? Object.keys(given) : Object.keys(given).filter((name) => !OWN.has(name));
  return Object.fromEntries(
    names.map((name) => [name, inputs(name, typed(operation.body?.[name], given[name], source))]),
  );
};

const paramsOf = (
  operation: Operation,
  row: Readonly<Record<string, unknown>>,
  source: Source,
): Record<string, unknown> => {
  const names = Object.keys(operation.params ?? {});
  const given = (row.params ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    names.map((name, i) => {
      const short = name.replace(/-public-id$/, '');
      const value = given[name] ?? given[short] ?? (i === names.length - 1 ? row.id : undefined);
      return [name, source === 'csv' ? typed(operation.params?.[name], value, source) : value];
    }),
  );
};

const known = (table: Table, name: string): Resource | undefined =>
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

const unknownVerb = (verbs: Resource, resource: string, asked: string): Problem => {
  const can = VERBS.filter((v) => verbs[v] !== undefined).join(', ');
  return asked === ''
    ? problem('op', 'required', `is required: ${can}`)
    : problem('op', 'enum', `${JSON.stringify(asked)} is not possible for ${resource}; possible: ${can}`);
};

/** In CSV the word null unsets a field. Where a field cannot be unset it would be stored as that word, in many rows at once. */
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
            'leave the cell empty to leave the field as it is; NDJSON stores the word null',
          ),
        );

/** A row as a change of the table, or everything that is wrong with it. Pure; ids may still be names. */
export const changeFrom = (
  table: Table,
  row: Readonly<Record<string, unknown>>,
  source: Source,
  defaults: Defaults,
): Change | readonly Problem[] => {
  const resource = String(row.resource ?? defaults.resource ?? '');
  const verbs = known(table, resource);
  if (verbs === undefined) return [unknownResource(table, resource)];
  const asked = String(row.op ?? row.action ?? defaults.op ?? '').toLowerCase();
  const verb = VERBS.find((v) => v === (words[asked] ?? asked));
  const operation = verb && verbs[verb];
  if (verb === undefined || operation === undefined) return [unknownVerb(verbs, resource, asked)];
  const nulls = nullsThatCannotBe(operation, row, source);
  if (nulls.length > 0) return nulls;
  const params = paramsOf(operation, row, source);
  return {
    resource,
    verb,
    operation,
    input: operation.body ? { params, body: bodyOf(operation, row, source) } : { params },
  };
};

/** The checks of the table, once names have become ids. */
export const changeProblems = (change: Change): Problem[] =>
  inputProblems(change.operation, change.input).map((found) =>
    Object.hasOwn(change.operation.params ?? {}, found.path) ? { ...found, path: 'id' } : found,
  );

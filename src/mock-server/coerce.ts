import { type Field, type Fields, bare } from '../core/field.ts';

const whole = /^-?\d{1,15}$/;

/** One text of a path or query as the field's type; a text that does not fit stays text and fails the check. */
export const coerce = (field: Field, text: string): unknown => {
  const inner = bare(field);
  switch (inner.type) {
    case 'integer':
      return whole.test(text) ? Number(text) : text;
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return text;
  }
};

/** The query as values by name. A list is a repeated name (spec/tracker#search), which some clients write `name[]`; of a repeated scalar the last counts. */
export const queryValues = (fields: Fields, query: string): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  if (query === '') return values;
  for (const [written, text] of new URLSearchParams(query)) {
    const name =
      written.endsWith('[]') && fields[written.slice(0, -2)]?.type === 'array'
        ? written.slice(0, -2)
        : written;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const inner = field && bare(field);
    if (inner === undefined) values[name] = text;
    else if (inner.type === 'array')
      values[name] = [...((values[name] as unknown[] | undefined) ?? []), coerce(inner.items, text)];
    else values[name] = coerce(inner, text);
  }
  return values;
};

const beyond = /^\d{16,19}$/;
/** A 64-bit id larger than any that is given out names nothing: 404 as for each other one, not a mistake of form. */
const idFrom = (field: Field, text: string): unknown =>
  bare(field).type === 'integer' && beyond.test(text) ? Number.MAX_SAFE_INTEGER : coerce(field, text);

export const pathValues = (
  fields: Fields,
  params: Readonly<Record<string, string>>,
): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const name in params) {
    const field = fields[name];
    values[name] = field ? idFrom(field, params[name] ?? '') : params[name];
  }
  return values;
};

/** Defaults of absent values, as the documents state them. */
export const withDefaults = (fields: Fields, values: Record<string, unknown>): Record<string, unknown> => {
  for (const name in fields) {
    const fallback = fields[name]?.default;
    if (fallback !== undefined && values[name] === undefined) values[name] = fallback;
  }
  return values;
};

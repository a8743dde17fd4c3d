import { type Field, type Fields, bare } from '../core/field.ts';
import type { Operation, Service } from '../core/operation.ts';

/** One field of a reference entry: `name  text, at most 128 characters, required`. */
export type EntryField = {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly about: string;
};
export type Entry = {
  readonly command: string;
  readonly summary: string;
  readonly request: string;
  readonly source: string;
  readonly parameters: readonly EntryField[];
  readonly query: readonly EntryField[];
  readonly body: readonly EntryField[];
  readonly success: number;
  readonly returns: string;
  readonly errors: readonly string[];
  readonly deprecated: string | undefined;
  readonly extension: boolean;
};

/** A field's type in words: `[uuid]`, `text(128)`, `done | in progress | to do`, `Label`. */
const typeText = (field: Field): string => {
  const end = field.nullable ? ' or null' : '';
  if (field.type === 'ref') return field.name + end;
  const inner = bare(field);
  switch (inner.type) {
    case 'string':
      return (
        (inner.enum
          ? inner.enum.join(' | ')
          : (inner.format ?? `text${inner.max === undefined ? '' : `(${inner.max})`}`)) + end
      );
    case 'integer':
    case 'number': {
      const range =
        inner.min === undefined && inner.max === undefined ? '' : ` ${inner.min ?? ''}..${inner.max ?? ''}`;
      return `${inner.type}${range}${end}`;
    }
    case 'array':
      return `[${typeText(inner.items)}]${end}`;
    case 'map':
      return `map of ${typeText(inner.values)}${end}`;
    case 'object':
      return (inner.name ?? `{${Object.keys(inner.fields).join(', ')}}`) + end;
    default:
      return inner.type + end;
  }
};

const aboutText = (field: Field): string =>
  [
    field.summary ?? '',
    field.default === undefined ? '' : `default ${field.default}`,
    field.deprecated === undefined
      ? ''
      : `deprecated${field.deprecated === '' ? '' : `, use ${field.deprecated}`}`,
  ]
    .filter((part) => part !== '')
    .join('; ');
const fieldsOf = (fields: Fields | undefined): EntryField[] =>
  Object.entries(fields ?? {}).map(([name, field]) => ({
    name,
    type: typeText(field),
    required: field.required ?? false,
    about: aboutText(field),
  }));

/**
 * A field that only the service sets is not part of a request, even if the document has one schema for both.
 */
const settable = (fields: Fields | undefined): Fields =>
  Object.fromEntries(
    Object.entries(fields ?? {}).filter(([, field]) => !field.outputOnly && !field.readOnly),
  );

/** All facts about one endpoint, for `opsctl reference` and the written reference. */
export const entryOf = (service: Service, words: readonly string[], operation: Operation): Entry => ({
  command: ['opsctl', ...words].join(' '),
  summary: operation.summary,
  request: `${operation.method} ${service.basePath}${operation.path}`,
  source: operation.cites,
  parameters: fieldsOf(operation.params),
  query: fieldsOf(operation.query),
  body: fieldsOf(settable(operation.body)),
  success: operation.ok,
  returns: operation.returns ? typeText(operation.returns) : '',
  errors: [...Object.keys(service.refusals?.meanings ?? {}), ...(operation.errors ?? [])],
  deprecated: operation.deprecated,
  extension: operation.extension ?? false,
});

const fieldLines = (title: string, fields: readonly EntryField[]): string[] =>
  fields.length === 0
    ? []
    : [
        '',
        `${title}:`,
        ...fields.map(
          (f) =>
            `  ${f.name}  ${f.type}${f.required ? ', required' : ''}${f.about === '' ? '' : `  ${f.about}`}`,
        ),
      ];

/** The entry as a page of text. */
export const entryText = (entry: Entry): string =>
  [
    `${entry.command}`,
    `${entry.summary}${entry.deprecated === undefined ? '' : ` (deprecated${entry.deprecated === '' ? '' : `: use ${entry.deprecated}`})`}`,
    '',
    `${entry.request} → ${entry.success}${entry.returns === '' ? '' : ` ${entry.returns}`}`,
    `Source: ${entry.source}${entry.extension ? ' (extension)' : ''}`,
    ...fieldLines('Path', entry.parameters),
    ...fieldLines('Query', entry.query),
    ...fieldLines('Body', entry.body),
    '',
    `Errors: ${entry.errors.join(', ')}`,
    '',
  ].join('\n');

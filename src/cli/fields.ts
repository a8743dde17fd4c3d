import { type Field, bare } from '../core/field.ts';
import { formats } from '../core/format.ts';
import { type Operation, type Service, operations } from '../core/operation.ts';
import { flagName } from '../core/field-flags.ts';
import { kebab } from './derived/command.ts';

export type ExplainedField = {
  readonly command: string;
  readonly type: string;
  readonly about: string;
  readonly rules: readonly (readonly [string, string])[];
  readonly source: string;
};

const typeOf = (field: Field): string => {
  const inner = bare(field);
  if (inner.type === 'array') return `list of ${typeOf(inner.items)}`;
  if (inner.type === 'string' && inner.enum !== undefined) return `one of ${inner.enum.join(', ')}`;
  return inner.type === 'string' && inner.format !== undefined
    ? inner.format
    : inner.type === 'string'
      ? 'text'
      : inner.type;
};

const unit = (type: string): string =>
  type === 'string' ? ' characters' : type === 'array' ? ' entries' : '';
/** Every rule of a field as a line, from the field itself. */
const rulesOf = (field: Field): [string, string][] => {
  const inner = bare(field);
  const { min, max } = inner as { min?: number; max?: number };
  const format = inner.type === 'string' && inner.format !== undefined ? formats[inner.format] : undefined;
  return [
    ...(field.required ? ([['required', 'yes']] as [string, string][]) : []),
    ...(field.nullable ? ([['null', 'unsets it (--unset)']] as [string, string][]) : []),
    ...(min === undefined ? [] : ([['at least', `${min}${unit(inner.type)}`]] as [string, string][])),
    ...(max === undefined ? [] : ([['at most', `${max}${unit(inner.type)}`]] as [string, string][])),
    ...(format === undefined ? [] : ([['format', format.says]] as [string, string][])),
    ...(field.default === undefined ? [] : ([['default', String(field.default)]] as [string, string][])),
    ...(field.readOnly ? ([['set by', 'the service']] as [string, string][]) : []),
    ...(field.deprecated === undefined
      ? []
      : ([['deprecated', field.deprecated === '' ? 'yes' : `use ${field.deprecated}`]] as [
          string,
          string,
        ][])),
  ];
};

const services = async (): Promise<Service[]> => [
  (await import('../api-specs/tracker/index.ts')).tracker,
  (await import('../api-specs/labels/index.ts')).labelsService,
];

const inputs = ({ params, query, body }: Operation): [string, Field][] =>
  Object.entries({ ...params, ...query, ...body });

/** `tracker labels create name`, `tracker labels name` or `labels.name`: where each operation takes it. */
export const fieldsNamed = async (words: readonly string[]): Promise<ExplainedField[]> => {
  const path = words.flatMap((word) => word.split('.'));
  const name = path.at(-1) ?? '';
  const before = path.slice(0, -1);
  if (before.length === 0) return [];
  return (await services()).flatMap((service) =>
    operations(service.table).flatMap(({ resource, verb, operation }) => {
      const own = [service.name, ...kebab(resource).split(' '), operation.cli?.verb ?? kebab(verb)];
      if (!before.every((word) => own.includes(word))) return [];
      return inputs(operation)
        .filter(([field]) => field === name || flagName(field) === name)
        .map(([, field]) => ({
          command: `opsctl ${own.join(' ')}`,
          type: typeOf(field),
          about: field.summary ?? '',
          rules: rulesOf(field),
          source: operation.cites,
        }));
    }),
  );
};

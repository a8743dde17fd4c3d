import { type Field, type Fields, type StringField, bare } from '../core/field.ts';
import { formatExamples } from '../core/format-examples.ts';

const text = (name: string, { format, enum: values, max, pattern }: StringField): string | undefined => {
  if (values?.[0] !== undefined) return values[0];
  if (format !== undefined && formatExamples[format] !== undefined) return formatExamples[format];
  return pattern === undefined ? name.slice(0, max) : undefined;
};

const exampleValue = (name: string, field: Field): unknown => {
  const plain = bare(field);
  switch (plain.type) {
    case 'string':
      return text(name, plain);
    case 'integer':
    case 'number':
      return Math.max(1, plain.min ?? 1);
    case 'boolean':
      return true;
    case 'array':
      return [exampleValue(name.replace(/_?ids?$|s$/, ''), plain.items)].filter((one) => one !== undefined);
    case 'object':
      return exampleOf(plain.fields);
    default:
      return undefined;
  }
};

/** A body that fits: the required fields, or the first one where none is required. */
export const exampleOf = (fields: Fields): Record<string, unknown> => {
  const required = Object.entries(fields).filter(([, field]) => field.required);
  const shown = required.length > 0 ? required : Object.entries(fields).slice(0, 1);
  const made = shown.map(([name, field]) => [name, field.default ?? exampleValue(name, field)] as const);
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
};

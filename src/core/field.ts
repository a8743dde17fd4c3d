import { Buffer } from 'node:buffer';
import { limits } from './limits.ts';
import { AppError, type Category } from './problem.ts';

/** The rules for one value. Flags, checks, schemas and help all read them from here. */
export type Format =
  | 'color'
  | 'date'
  | 'datetime'
  | 'uuid'
  | 'url'
  | 'email'
  | 'int64'
  | 'byte'
  | 'fieldmask'
  | 'duration';
type Meta = {
  readonly required?: true;
  readonly nullable?: true;
  /** In a record: the key may be absent from a response. */
  readonly optional?: true;
  readonly summary?: string;
  readonly default?: unknown;
  /** Replacement to name in the warning; empty if there is no replacement. */
  readonly deprecated?: string;
  /** Set by the service; a client that sends it is refused. */
  readonly readOnly?: true;
  /** Set by the service; ignored when a client sends it (spec/labels#errors). */
  readonly outputOnly?: true;
  /** A secret: no flag has it as its value, because other users of the machine can read the arguments of a process. */
  readonly secret?: true;
  /** Never present in a response. */
  readonly inputOnly?: true;
  /**
   * Documented as required, but the service checks it only if the request touches it. A field mask may omit
   * it.
   */
  readonly needed?: true;
};
export type StringField = Meta & {
  readonly type: 'string';
  readonly max?: number;
  readonly min?: number;
  readonly format?: Format;
  readonly enum?: readonly string[];
  /** Values outside `enum` are accepted and pass unchanged. */
  readonly open?: true;
  readonly pattern?: string;
};
export type NumberField = Meta & {
  readonly type: 'integer' | 'number';
  readonly min?: number;
  readonly max?: number;
  readonly format?: 'int32' | 'float';
};
type BooleanField = Meta & { readonly type: 'boolean' };
export type ListField = Meta & {
  readonly type: 'array';
  readonly items: Field;
  readonly max?: number;
  readonly min?: number;
};
export type ObjectField = Meta & {
  readonly type: 'object';
  readonly fields: Fields;
  /** The component name in OpenAPI and the reference. */
  readonly name?: string;
  /** A record: a response contains every key unless the key is `optional`. */
  readonly complete?: true;
  /** The path of the unique name that commands accept in place of the ID: what `-o name` prints. */
  readonly uniqueName?: string;
  /** Groups of keys of which at most one may be set. */
  readonly exclusive?: readonly (readonly string[])[];
};
/** A named field looked up late, so that records can contain themselves. `T` is its TypeScript shape. */
export type RefField<T = unknown> = Meta & {
  readonly type: 'ref';
  readonly name: string;
  readonly to: () => Field;
  readonly shape?: T;
};
export type MapField = Meta & { readonly type: 'map'; readonly values: Field };
/** Raw bytes of one multipart part. */
type FileField = Meta & { readonly type: 'file' };
type AnyField = Meta & { readonly type: 'any' };
export type Field =
  | StringField
  | NumberField
  | BooleanField
  | ListField
  | ObjectField
  | RefField<any>
  | MapField
  | FileField
  | AnyField;
export type Fields = { readonly [name: string]: Field };
type Uploaded = { readonly filename: string; readonly contentType: string; readonly bytes: Uint8Array };
type Bare<F> = F extends { open: true }
  ? string
  : F extends { enum: readonly (infer E)[] }
    ? E
    : F extends { type: 'string' }
      ? string
      : F extends { type: 'integer' | 'number' }
        ? number
        : F extends { type: 'boolean' }
          ? boolean
          : F extends { type: 'array'; items: infer I }
            ? Value<I>[]
            : F extends { type: 'object'; complete: true; fields: infer O extends Fields }
              ? Complete<O>
              : F extends { type: 'object'; fields: infer O extends Fields }
                ? Values<O>
                : F extends { type: 'map'; values: infer V }
                  ? Record<string, Value<V>>
                  : F extends { type: 'ref'; shape?: infer T }
                    ? T
                    : F extends { type: 'file' }
                      ? Uploaded
                      : unknown;
/** The TypeScript type of a field's values. */
export type Value<F> = F extends { nullable: true } ? Bare<F> | null : Bare<F>;
type RequiredKeys<O extends Fields> = {
  [K in keyof O]: O[K] extends { required: true } ? K : never;
}[keyof O];
type OptionalKeys<O extends Fields> = {
  [K in keyof O]: O[K] extends { optional: true } ? K : never;
}[keyof O];
type Flat<T> = { [K in keyof T]: T[K] } & {};
/** Input shape: a key is optional unless its field is required. */
export type Values<O extends Fields> = Flat<
  { [K in RequiredKeys<O>]: Value<O[K]> } & {
    [K in Exclude<keyof O, RequiredKeys<O>>]?: Value<O[K]> | undefined;
  }
>;
/** Record shape: a key is present unless its field is optional. */
export type Complete<O extends Fields> = Flat<
  { [K in Exclude<keyof O, OptionalKeys<O>>]: Value<O[K]> } & {
    [K in OptionalKeys<O>]?: Value<O[K]> | undefined;
  }
>;
type None = Record<never, never>;
export const str = <const O extends Omit<StringField, 'type' | 'max'> = None>(max?: number, more?: O) =>
  ({ type: 'string', ...(max === undefined ? {} : { max }), ...more }) as {
    type: 'string';
    max?: number;
  } & NoInfer<O>;
export const int = <const O extends Omit<NumberField, 'type'> = None>(more?: O) =>
  ({ type: 'integer', ...more }) as { type: 'integer' } & NoInfer<O>;
export const num = <const O extends Omit<NumberField, 'type'> = None>(more?: O) =>
  ({ type: 'number', ...more }) as { type: 'number' } & NoInfer<O>;
export const bool = <const O extends Meta = None>(more?: O) =>
  ({ type: 'boolean', ...more }) as { type: 'boolean' } & NoInfer<O>;
export const oneOf = <const E extends readonly string[]>(...values: E) =>
  ({ type: 'string', enum: values }) as const;
export const list = <const F extends Field, const O extends Omit<ListField, 'type' | 'items'> = None>(
  items: F,
  more?: O,
) => ({ type: 'array', items, ...more }) as { type: 'array'; items: F } & NoInfer<O>;
/** An input object. */
export const obj = <const O extends Fields, const M extends Omit<ObjectField, 'type' | 'fields'> = None>(
  fields: O,
  more?: M,
) => ({ type: 'object', fields, ...more }) as { type: 'object'; fields: O } & NoInfer<M>;
/** A response of the service: all keys are present unless `maybe` is set. */
export const record = <const O extends Fields>(name: string, fields: O, uniqueName?: string) =>
  ({
    type: 'object',
    name,
    complete: true,
    fields,
    ...(uniqueName === undefined ? {} : { uniqueName }),
  }) as { type: 'object'; name: string; complete: true; fields: O; uniqueName?: string };
export const ref = <T>(name: string, to: () => Field): RefField<T> => ({ type: 'ref', name, to });
export const map = <const F extends Field>(values: F) => ({ type: 'map', values }) as const;
export const file = () => ({ type: 'file' }) as const;
export const any = () => ({ type: 'any' }) as const;
export const uuid = () => ({ type: 'string', format: 'uuid' }) as const;
export const color = () => ({ type: 'string', format: 'color' }) as const;
export const datetime = () => ({ type: 'string', format: 'datetime' }) as const;
export const duration = () => ({ type: 'string', format: 'duration' }) as const;
export const date = () => ({ type: 'string', format: 'date' }) as const;
export const url = (max?: number) =>
  ({ type: 'string', format: 'url', ...(max === undefined ? {} : { max }) }) as const;
export const req = <const F extends Field>(field: F) =>
  ({ ...field, required: true }) as F & { required: true };
export const orNull = <const F extends Field>(field: F) =>
  ({ ...field, nullable: true }) as F & { nullable: true };
export const maybe = <const F extends Field>(field: F) =>
  ({ ...field, optional: true }) as F & { optional: true };
export const out = <const F extends Field>(field: F) =>
  ({ ...field, outputOnly: true }) as F & { outputOnly: true };
/** `use` names the replacement. */
export const old = <const F extends Field>(field: F, use: string) =>
  ({ ...field, deprecated: use }) as F & { deprecated: string };
export const secret = <const F extends Field>(field: F) =>
  ({ ...field, secret: true }) as F & { secret: true };
export const help = <const F extends Field>(field: F, summary: string) =>
  ({ ...field, summary }) as F & { summary: string };
/** Follows a reference to the field behind it. */
export const bare = (field: Field): Exclude<Field, RefField> =>
  field.type === 'ref' ? bare(field.to()) : field;

/**
 * True if a setting that accepts a path or the content of a key contains the content: JSON, PEM, or either of
 * them in base64 or in quotes.
 */
export const isKeyContent = (value: string): boolean => {
  const text = value.trim();
  return (
    /^["'\ufeff]*[{[]/.test(text) || text.includes('-----BEGIN') || /^["']*[\w+/=\s-]{200,}["']*$/.test(text)
  );
};
/**
 * Rejects a secret that is too long. The message never repeats the secret. `name` is the flag, variable or
 * file.
 */
export const refuseLongSecret = (category: Category, name: string, secret: string): void => {
  const bytes = Buffer.byteLength(secret);
  if (bytes <= limits.secretBytes) return;
  throw new AppError(
    category,
    `${name} has ${bytes} bytes; a secret has at most ${limits.secretBytes}: is it the wrong file or variable?`,
    { code: 'SECRET_TOO_LONG' },
  );
};

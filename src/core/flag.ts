import type { Field, Value } from './field.ts';

/**
 * What the value of a flag or an argument does beyond the request of its command: it names a file that is read or
 * written, it starts a program (an editor, a browser, a hook), or it decides where requests and secrets go.
 * A file whose content leaves the machine as a secret both `reads` and `sends`.
 */
export type Effect = 'reads' | 'writes' | 'runs' | 'sends';

export type Flag = {
  /** Empty: the value is data of the request. Tools for agents hide a text or a switch without a declaration. */
  readonly effects?: readonly Effect[];
  readonly field: Field;
  readonly summary: string;
  readonly short?: string;
  /** May be given several times; the value is a list. */
  readonly repeat?: true;
  /** Shown in help: `--label <name|id>`. */
  readonly value?: string;
  readonly required?: true;
  /** `--no-browser` style: true unless given. */
  readonly negated?: true;
  readonly hidden?: true;
  /**
   * Marks a flag that selects the target of the command. Suggested commands in its messages repeat this flag.
   */
  readonly isRepeated?: true;
  /** Where TAB takes values from: a word the completion layer knows (`profile`, `column`, `label`, `file`, `kv-member`). */
  readonly complete?: string;
  /** Values worth offering where the field itself allows others too. */
  readonly suggest?: readonly string[];
  /** An empty value has a meaning: it clears a text or a list. Without this, opsctl rejects an empty value. */
  readonly allowsEmpty?: true;
};
export type Argument = {
  readonly effects?: readonly Effect[];
  readonly name: string;
  readonly field: Field;
  readonly summary: string;
  readonly optional?: true;
  readonly rest?: true;
  readonly complete?: string;
  /** Values worth offering under TAB where the field itself allows others too. */
  readonly suggest?: readonly string[];
  /** An empty value has a meaning. Without this, opsctl rejects an empty value. */
  readonly allowsEmpty?: true;
};
export type Example = { readonly line: string; readonly says: string };

export type Flags = { readonly [name: string]: Flag };

/** Values by flag name (kebab-case) and argument name, already checked against their fields. Absent stays absent. */
export type Values = { readonly [name: string]: unknown };

type RequiredFlag = { readonly required: true } | { readonly field: { readonly required: true } };
type FlagValues<F extends Flags> = {
  readonly [K in keyof F as F[K] extends RequiredFlag ? K : never]: Value<F[K]['field']>;
} & {
  readonly [K in keyof F as F[K] extends RequiredFlag ? never : K]?: Value<F[K]['field']> | undefined;
};
type ArgumentValues<A extends Argument> = {
  readonly [K in A as K extends { readonly optional: true } ? never : K['name']]: Value<K['field']>;
} & {
  readonly [K in A as K extends { readonly optional: true } ? K['name'] : never]?:
    | Value<K['field']>
    | undefined;
};
type Flat<T> = { readonly [K in keyof T]: T[K] } & {};
/**
 * What the body of a command gets for these flags and arguments. A name that is not among them does not compile. Of flags
 * that are typed `: Flags` no name is known, so none compiles: write `as const satisfies Flags`.
 */
export type ValuesOf<F extends Flags, A extends readonly Argument[] = readonly []> = string extends keyof F
  ? never
  : Flat<FlagValues<F> & ArgumentValues<A[number]>>;

/** `epic_state_id` and `displayName` become `epic-state-id` and `display-name`. */
export const flagName = (field: string): string =>
  field
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

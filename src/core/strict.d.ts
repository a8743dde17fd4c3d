// Where the library of the language uses `any`, src uses `unknown`. Only src/tsconfig.json includes these declarations.
interface JSON {
  parse(text: string, reviver?: (this: unknown, key: string, value: unknown) => unknown): unknown;
}
interface ObjectConstructor {
  create<T extends object>(prototype: T, properties: PropertyDescriptorMap): T;
  entries<T>(value: { [key: string]: T } | ArrayLike<T>): [string, T][];
  entries(value: object): [string, unknown][];
  values<T>(value: { [key: string]: T } | ArrayLike<T>): T[];
  values(value: object): unknown[];
  fromEntries<T = unknown>(entries: Iterable<readonly [PropertyKey, T]>): { [key: string]: T };
  fromEntries(entries: Iterable<readonly unknown[]>): { [key: string]: unknown };
}
interface ArrayConstructor {
  isArray(value: unknown): value is unknown[];
}

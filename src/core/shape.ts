/** The required form of a stored or received value. Additional fields are allowed. */
type Word = 'text' | 'number' | 'flag' | 'list' | 'record';
export type Shape =
  | Word
  | `${Word}?`
  /** A list whose every item has this shape. */
  | readonly [Shape]
  | { readonly [field: string]: Shape };
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const words: Readonly<Record<Word, readonly [string, (value: unknown) => boolean]>> = {
  text: ['text', (value) => typeof value === 'string'],
  number: ['a number', (value) => typeof value === 'number'],
  flag: ['true or false', (value) => typeof value === 'boolean'],
  list: ['a list', Array.isArray],
  record: ['an object', isRecord],
};
const wordMisfit = (value: unknown, given: Word | `${Word}?`, path: string): string | undefined => {
  const isOptional = given.endsWith('?');
  const [name, fits] = words[given.replace('?', '') as Word];
  if (value === undefined) return isOptional ? undefined : `\`${path}\` is missing`;
  return fits(value) ? undefined : `\`${path}\` must be ${name}`;
};
/** The first part of a value that is not as its readers need it, in words. Pure. */
export const misfit = (value: unknown, shape: Shape, path = ''): string | undefined => {
  if (typeof shape === 'string') return wordMisfit(value, shape, path);
  const isList = Array.isArray(shape);
  if (path !== '') {
    const wrong = wordMisfit(value, isList ? 'list' : 'record', path);
    if (wrong !== undefined) return wrong;
  } else if (isList ? !Array.isArray(value) : !isRecord(value))
    return `it does not hold ${isList ? 'a list' : 'an object'}`;
  const parts: [string, unknown, Shape][] = isList
    ? (value as unknown[]).map((item, i) => [`${path}[${i}]`, item, shape[0]])
    : Object.entries(shape).map(([field, part]) => [
        path === '' ? field : `${path}.${field}`,
        (value as Record<string, unknown>)[field],
        part,
      ]);
  for (const [at, item, part] of parts) {
    const wrong = misfit(item, part, at);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
};
/** Selects the shape of a line by the value of its field `name`. Unknown lines must be objects. */
export const shapeBy =
  (name: string, shapes: Readonly<Record<string, Shape>>) =>
  (line: unknown): Shape => {
    const kind = isRecord(line) ? String(line[name]) : '';
    return (Object.hasOwn(shapes, kind) ? shapes[kind] : undefined) ?? {};
  };
/**
 * Returns the value of a JSON text, or undefined if it is not valid JSON or has another shape. For files that
 * are recreated when they are damaged.
 */
export const fittingJson = <T>(text: string | undefined, shape: Shape): T | undefined => {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return misfit(value, shape) === undefined ? (value as T) : undefined;
  } catch {
    return undefined;
  }
};

/** Words that settings, flags and the sign-in itself share. */

/** Sign-in methods without a person. */
export const machineMethodNames = ['service-account', 'client-credentials', 'token-exchange'] as const;
export type MachineMethodName = (typeof machineMethodNames)[number];
/** How a client proves itself: in the body as the document has it, by HTTP Basic, or by a signature (RFC 7523 2.2). */
export const clientAuthentications = ['body', 'basic', 'private_key_jwt'] as const;
export type ClientAuthentication = (typeof clientAuthentications)[number];

type Random = { random(bytes: number): Uint8Array };
/** From 0 to below 1, in steps of 1/256: enough to spread retries. */
export const randomShare = (host: Random): number => (host.random(1)[0] ?? 0) / 256;

import { NumberText, kindOf } from './go-json.ts';
import { type Body, RpcError } from './rpc.ts';

/** Reads request fields as the gateway does: unknown ones are ignored, names in either spelling, numbers as text or number. */
const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
export const field = (body: Body, name: string): unknown => body[name] ?? body[camel(name)];

const wrongKind = (value: unknown, type: string): RpcError =>
  new RpcError(3, `json: cannot unmarshal ${kindOf(value)} into Go value of type ${type}`);

const ALPHABET = /[^A-Za-z0-9+/]/;
/** spec/store#measured-answers: `illegal base64 data at input byte 0`. Returns the bytes as a string of one character a byte. */
export const bytesField = (body: Body, name: string): string => {
  const text = base64Field(body, name);
  return Buffer.from(text, 'base64').toString('latin1');
};
export const base64Field = (body: Body, name: string): string => {
  const given = field(body, name) ?? '';
  if (typeof given !== 'string') throw wrongKind(given, '[]uint8');
  // Line ends inside are passed over.
  const value = given.replace(/[\r\n]/g, '');
  const plain = /^[^=]*/.exec(value)?.[0] ?? '';
  const at = ALPHABET.exec(plain)?.index ?? paddingProblem(plain.length, value.slice(plain.length));
  if (at !== undefined) throw new RpcError(3, `illegal base64 data at input byte ${at}`);
  return value;
};
/** Where the padding is wrong; undefined when it is right. */
const paddingProblem = (length: number, padding: string): number | undefined => {
  const odd = length % 4;
  const wanted = { 2: '==', 3: '=' }[odd] ?? '';
  if (padding === wanted && odd !== 1) return undefined;
  if (padding === '') return length - odd;
  if (wanted !== '' && padding.startsWith(wanted)) return length + wanted.length;
  return padding === '=' && odd === 2 ? length + 1 : length;
};
export const textField = (body: Body, name: string): string => {
  const value = field(body, name) ?? '';
  if (typeof value !== 'string') throw wrongKind(value, 'string');
  return value;
};
/** Decimal text of a 64-bit number; '0' when absent. Ids of members are unsigned: half of them are above the largest signed one. */
export const bigField = (body: Body, name: string): string => wholeField(body, name, 'int64', BigInt.asIntN);
export const unsignedField = (body: Body, name: string): string =>
  wholeField(body, name, 'uint64', BigInt.asUintN);
const wholeField = (
  body: Body,
  name: string,
  type: string,
  within: (bits: number, value: bigint) => bigint,
): string => {
  const value = field(body, name) ?? '0';
  if (typeof value !== 'string' && !(value instanceof NumberText)) throw wrongKind(value, type);
  const text = typeof value === 'string' ? value : value.text;
  if (/^-?\d+$/.test(text) && within(64, BigInt(text)) === BigInt(text)) return BigInt(text).toString();
  const [number] = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/.exec(text) ?? [];
  if (number === text)
    throw new RpcError(3, `json: cannot unmarshal number ${text} into Go value of type ${type}`);
  if (number !== undefined)
    throw new RpcError(3, `invalid character '${text[number.length]}' after top-level value`);
  if (text === '') throw new RpcError(3, 'unexpected end of JSON input');
  throw new RpcError(3, `invalid character '${text[0]}' looking for beginning of value`);
};
export const numberField = (body: Body, name: string): number => Number(bigField(body, name));
export const booleanField = (body: Body, name: string): boolean => {
  const value = field(body, name) ?? false;
  if (typeof value !== 'boolean') throw wrongKind(value, 'bool');
  return value;
};
/** A name of the list, or its number; a number that has no name counts as the first. */
export const enumField = <const N extends readonly string[]>(
  body: Body,
  name: string,
  names: N,
  type: string,
): N[number] => {
  const value = field(body, name) ?? names[0];
  if (value instanceof NumberText) return names[Number(value.text)] ?? (names[0] as N[number]);
  const found = names.find((one) => one === value);
  if (found === undefined)
    throw new RpcError(3, `unknown value ${JSON.stringify(value)} for enum etcdserverpb.${type}`);
  return found;
};
export const listField = (body: Body, name: string): Body[] => {
  const value = field(body, name) ?? [];
  if (!Array.isArray(value)) throw wrongKind(value, '[]json.RawMessage');
  return value.map((one) => {
    if (typeof one === 'object' && one !== null && !Array.isArray(one) && !(one instanceof NumberText))
      return one as Body;
    throw wrongKind(one, 'map[string]json.RawMessage');
  });
};

import { type Body, RpcError } from './rpc.ts';

/** Reads request fields as the gateway does: unknown ones are ignored, names in either spelling, numbers as text or number. */
const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
export const field = (body: Body, name: string): unknown => body[name] ?? body[camel(name)];

const ALPHABET = /[^A-Za-z0-9+/]/;
/** facts kv A2: `illegal base64 data at input byte 0`. Returns the bytes as a string of one character a byte. */
export const bytesField = (body: Body, name: string): string => {
  const text = base64Field(body, name);
  return Buffer.from(text, 'base64').toString('latin1');
};
export const base64Field = (body: Body, name: string): string => {
  const value = field(body, name);
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new RpcError(3, `json: cannot unmarshal ${typeof value} into Go value of type []uint8`);
  const plain = value.replace(/={1,2}$/, '');
  const bad = ALPHABET.exec(plain)?.index;
  const isWhole = value.length % 4 === 0 && plain.length % 4 !== 1;
  if (bad !== undefined || !isWhole) throw new RpcError(3, `illegal base64 data at input byte ${bad ?? value.length - (value.length % 4)}`);
  return value;
};
export const textField = (body: Body, name: string): string => {
  const value = field(body, name) ?? '';
  if (typeof value !== 'string') throw new RpcError(3, `json: cannot unmarshal ${typeof value} into Go value of type string`);
  return value;
};
/** Decimal text of a 64-bit number; '0' when absent. */
export const bigField = (body: Body, name: string): string => {
  const value = field(body, name) ?? 0;
  if ((typeof value === 'number' && Number.isInteger(value)) || (typeof value === 'string' && /^-?\d{1,20}$/.test(value)))
    return BigInt(value).toString();
  throw new RpcError(3, `json: cannot unmarshal ${JSON.stringify(value)} into Go value of type int64`);
};
export const numberField = (body: Body, name: string): number => Number(bigField(body, name));
export const booleanField = (body: Body, name: string): boolean => field(body, name) === true;
/** A name of the list, or its number. */
export const enumField = <const N extends readonly string[]>(body: Body, name: string, names: N): N[number] => {
  const value = field(body, name) ?? 0;
  const found = typeof value === 'number' ? names[value] : names.find((one) => one === value);
  if (found === undefined) throw new RpcError(3, `unknown value "${value}" for enum`);
  return found;
};
export const listField = (body: Body, name: string): Body[] => {
  const value = field(body, name) ?? [];
  if (!Array.isArray(value)) throw new RpcError(3, 'json: cannot unmarshal object into Go value of type []json.RawMessage');
  return value as Body[];
};

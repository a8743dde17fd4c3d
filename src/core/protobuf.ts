/** The little of protobuf that the store's messages need, between bytes and the JSON that its gateway speaks. */
import { limits } from './limits.ts';
import { decodeUtf8 } from './text.ts';

type Kind = 'bytes' | 'text' | 'int64' | 'uint64' | 'flag' | readonly string[] | { readonly shape: Shape };
/** Number and kind of each field, by its name in the gateway's JSON; `many` for a repeated one. */
export type Shape = { readonly [name: string]: readonly [number: number, kind: Kind, many?: 'many'] };
/** One of the store's own calls behind a path of its gateway, with the fields that are used here (its rpc.proto, the same from 3.2 to 3.6). */
export type DirectCall = { readonly method: string; readonly request: Shape; readonly answer: Shape };
type Json = Readonly<Record<string, unknown>>;

const [VARINT, FIXED64, LENGTH, FIXED32] = [0, 1, 2, 5];

const varint = (value: bigint): Buffer => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
};
const field = (number: number, wire: number, content: Buffer): Buffer =>
  Buffer.concat([
    varint(BigInt(number * 8 + wire)),
    ...(wire === LENGTH ? [varint(BigInt(content.length))] : []),
    content,
  ]);

const encodeOne = (number: number, kind: Kind, value: unknown): Buffer => {
  if (kind === 'bytes') return field(number, LENGTH, Buffer.from(String(value), 'base64'));
  if (kind === 'text') return field(number, LENGTH, Buffer.from(String(value)));
  if (kind === 'flag') return field(number, VARINT, varint(value === true ? 1n : 0n));
  if (kind === 'int64' || kind === 'uint64') return field(number, VARINT, varint(BigInt(value as string)));
  if ('shape' in kind) return field(number, LENGTH, encode(kind.shape, value as Json));
  return field(number, VARINT, varint(BigInt(Math.max(0, kind.indexOf(String(value))))));
};

/** A message from the JSON that the gateway would take: numbers as decimal texts, bytes as base64, enums by name. */
export const encode = (shape: Shape, json: Json): Buffer => {
  // A condition that is left out is another condition: better no request at all.
  const unknown = Object.keys(json).find((name) => shape[name] === undefined);
  if (unknown !== undefined) throw new Error(`the message has no field ${unknown}`);
  return Buffer.concat(
    Object.entries(shape).flatMap(([name, [number, kind]]) => {
      const value: unknown = json[name];
      if (value === undefined) return [];
      return (Array.isArray(value) ? value : [value]).map((one) => encodeOne(number, kind, one));
    }),
  );
};

type Cursor = { at: number };
/** Tags and lengths are 32-bit numbers. More bytes, even zeros, are malformed: other readers ignore or reject them. */
const SHORT = 5;
const readVarint = (bytes: Buffer, cursor: Cursor, most = 10): bigint => {
  let [value, shift] = [0n, 0n];
  const end = BigInt(7 * most);
  for (;;) {
    const byte = bytes[cursor.at];
    if (shift >= end) throw new Error(`a number in a message of the store has more than ${most} bytes`);
    if (byte === undefined) throw new Error('a message of the store ends in the middle of a number');
    cursor.at += 1;
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
};
/** The number and the wire type of a field. Field 0 and numbers above 2^29 - 1 do not exist. */
const readTag = (bytes: Buffer, cursor: Cursor): { readonly number: number; readonly wire: number } => {
  const tag = readVarint(bytes, cursor, SHORT);
  const number = tag >> 3n;
  if (number < 1n || number > 0x1fffffffn)
    throw new Error(`a message of the store has a field with the invalid number ${number}`);
  return { number: Number(number), wire: Number(tag & 7n) };
};

const readRaw = (bytes: Buffer, wire: number, cursor: Cursor): bigint | Buffer => {
  if (wire === VARINT) return readVarint(bytes, cursor);
  const length =
    wire === LENGTH
      ? Number(readVarint(bytes, cursor, SHORT))
      : wire === FIXED64
        ? 8
        : wire === FIXED32
          ? 4
          : undefined;
  if (length === undefined)
    throw new Error(`a message of the store has a field of the unsupported wire type ${wire}`);
  const end = cursor.at + length;
  if (end > bytes.length) throw new Error('a message of the store is cut off');
  const raw = bytes.subarray(cursor.at, end);
  cursor.at = end;
  return raw;
};

type RawField = { readonly number: number; readonly wire: number; readonly raw: bigint | Buffer };
/** Yields the fields of a message in the order of its bytes. Throws if the message is malformed. */
function* rawFields(bytes: Buffer): Generator<RawField> {
  for (const cursor: Cursor = { at: 0 }; cursor.at < bytes.length; ) {
    const { number, wire } = readTag(bytes, cursor);
    yield { number, wire, raw: readRaw(bytes, wire, cursor) };
  }
}
/** Returns the bytes of one field without a copy, or undefined if it is absent. The last occurrence counts. */
export const bytesField = (message: Buffer, number: number): Buffer | undefined => {
  let found: Buffer | undefined;
  for (const { number: at, wire, raw } of rawFields(message))
    if (at === number && wire === LENGTH && typeof raw !== 'bigint') found = raw;
  return found;
};
/** Returns a signed number of one field, or 0 if it is absent, as protobuf specifies. */
export const numberField = (message: Buffer, number: number): number => {
  let found = 0n;
  for (const { number: at, raw } of rawFields(message))
    if (at === number && typeof raw === 'bigint') found = BigInt.asIntN(64, raw);
  return Number(found);
};
/** Encodes a message with one number. */
export const numberMessage = (number: number, value: number): Buffer =>
  field(number, VARINT, varint(BigInt(value)));

const isLengthKind = (kind: Kind): boolean =>
  kind === 'bytes' || kind === 'text' || (typeof kind === 'object' && 'shape' in kind);
/** The values of one occurrence of a field: one, or several numbers that are packed. Throws if the wire type does not fit. */
const valuesOf = (kind: Kind, isMany: boolean, raw: bigint | Buffer, depth: number): unknown[] => {
  if (isLengthKind(kind) === (typeof raw !== 'bigint')) return [readValue(kind, raw, depth)];
  if (typeof raw === 'bigint' || !isMany)
    throw new Error('a field in a message of the store has the wrong wire type');
  const values: unknown[] = [];
  for (const cursor: Cursor = { at: 0 }; cursor.at < raw.length; )
    values.push(readValue(kind, readVarint(raw, cursor), depth));
  return values;
};
const readValue = (kind: Kind, raw: bigint | Buffer, depth: number): unknown => {
  if (typeof raw !== 'bigint') {
    if (kind === 'bytes') return raw.toString('base64');
    if (typeof kind === 'object' && 'shape' in kind) return decode(kind.shape, raw, depth + 1);
    return decodeUtf8(raw, 'a text in a message of the store', 'network');
  }
  if (kind === 'flag') return raw !== 0n;
  if (kind === 'int64') return BigInt.asIntN(64, raw).toString();
  if (!Array.isArray(kind)) return raw.toString();
  // An enum is an int32 on the wire.
  const value = Number(BigInt.asIntN(32, raw));
  return kind[value] ?? String(value);
};

/** The JSON form that the gateway would return. Fields that the shape does not define are left out. */
export const decode = (shape: Shape, bytes: Buffer, depth = 0): Json => {
  if (depth > limits.messageDepth)
    throw new Error(`a message of the store is nested more than ${limits.messageDepth} deep`);
  const names = new Map(
    Object.entries(shape).map(([name, [number, kind, many]]) => [number, { name, kind, many }]),
  );
  const json: Record<string, unknown> = {};
  for (const { number, wire, raw } of rawFields(bytes)) {
    const known = names.get(number);
    if (known === undefined) continue;
    if (wire !== VARINT && wire !== LENGTH)
      throw new Error('a field in a message of the store has the wrong wire type');
    const values = valuesOf(known.kind, known.many !== undefined, raw, depth);
    if (known.many === undefined) json[known.name] = values[0];
    // A packed list without values is absent, as in the gateway's JSON.
    else if (values.length > 0) {
      const list = (json[known.name] as unknown[] | undefined) ?? [];
      json[known.name] = list;
      for (const value of values) list.push(value);
    }
  }
  return json;
};

const castagnoli = new Uint32Array(256).map((_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value >>> 0;
});
/** The checksum of the store's files and hashes (CRC-32C), continued from that of the bytes before. */
export const storeCrc = (bytes: Uint8Array, before: number): number => {
  let value = before ^ -1;
  for (let i = 0; i < bytes.length; i += 1)
    value = (value >>> 8) ^ (castagnoli[(value ^ (bytes[i] as number)) & 0xff] as number);
  return (value ^ -1) >>> 0;
};

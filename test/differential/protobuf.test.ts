/** The protobuf reader and writer of the store's messages, compared with protobufjs. */
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { bytesField, decode, encode, numberField, type Shape } from '../../src/core/protobuf.ts';
import type { Random } from '../simulator/kernel/random.ts';
import { type Outcome, compareReaders, outcomeOf } from './cases.ts';

const KINDS = ['ZERO', 'ONE', 'TWO'];
const inner = { id: [1, 'uint64'], text: [2, 'text'], kinds: [3, KINDS, 'many'] } as const satisfies Shape;
const shape = {
  key: [1, 'bytes'],
  name: [2, 'text'],
  small: [3, 'int64'],
  large: [4, 'uint64'],
  yes: [5, 'flag'],
  kind: [6, KINDS],
  rows: [7, { shape: inner }, 'many'],
  urls: [16, 'text', 'many'],
  counts: [300, 'int64', 'many'],
} as const satisfies Shape;
const { root } = protobuf.parse(`syntax = "proto3";
  enum Kind { ZERO = 0; ONE = 1; TWO = 2; }
  message Inner { uint64 id = 1; string text = 2; repeated Kind kinds = 3; }
  message Outer {
    bytes key = 1; string name = 2; int64 small = 3; uint64 large = 4; bool yes = 5; Kind kind = 6;
    repeated Inner rows = 7; repeated string urls = 16; repeated int64 counts = 300;
  }
  message Fields { bytes key = 1; int64 small = 3; }`);
const Outer = root.lookupType('Outer');
const Fields = root.lookupType('Fields');

const TEXTS = ['', 'a', 'größe', '💥', 'x'.repeat(130), '\0', '"'];
const longOf = (random: Random, isSigned: boolean): string => {
  const value = BigInt(`0x${random.bytes(8).toString('hex')}`) >> BigInt(random.below(64));
  return String(isSigned ? BigInt.asIntN(64, random.chance(0.2) ? -value : value) : value);
};
const listOf = <T>(random: Random, make: () => T): T[] => Array.from({ length: 1 + random.below(4) }, make);
const messageFrom = (random: Random): Record<string, unknown> => {
  const all: Record<string, () => unknown> = {
    key: () => random.bytes(random.below(140)).toString('base64'),
    name: () => random.pick(TEXTS),
    small: () => longOf(random, true),
    large: () => longOf(random, false),
    yes: () => random.chance(0.5),
    kind: () => random.pick(KINDS),
    rows: () =>
      listOf(random, () => ({
        id: longOf(random, false),
        text: random.pick(TEXTS),
        kinds: listOf(random, () => random.pick(KINDS)),
      })),
    urls: () => listOf(random, () => random.pick(TEXTS)),
    counts: () => listOf(random, () => longOf(random, true)),
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, make]) => (random.chance(0.5) ? [[name, make()]] : [])),
  );
};
/** Bytes that partly form a message: complete, truncated, with changed bytes, or with fields of another kind. */
const change = (bytes: Buffer, random: Random): Buffer => {
  const at = random.below(bytes.length + 1);
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(3)), bytes.subarray(at)]);
    case 2: {
      const changed = Buffer.from(bytes);
      if (changed.length > 0) changed[random.below(changed.length)] = random.below(256);
      return changed;
    }
    case 3:
      // One field with any wire type: `number << 3 | wire`, and a value that may fit.
      return Buffer.concat([
        bytes,
        Buffer.from([random.below(128)]),
        random.pick([
          Buffer.from([random.below(128)]),
          Buffer.from([2, 1, 2]),
          random.bytes(8),
          Buffer.from(`${'80'.repeat(random.below(12))}01`, 'hex'),
        ]),
      ]);
    case 4:
      return Buffer.concat([bytes, bytes]);
    default:
      return bytes;
  }
};
const bytesFrom = (random: Random): Buffer => {
  let bytes: Buffer = Buffer.from(Outer.encode(Outer.fromObject(messageFrom(random))).finish());
  while (random.chance(0.5)) bytes = change(bytes, random);
  return bytes;
};
/** The decoder of texts of protobufjs throws a TypeError with a code for bytes that are not UTF-8. */
const isForeseen = (error: unknown): boolean =>
  error instanceof Error && (!(error instanceof TypeError) || 'code' in error);
const DEFAULTS: ReadonlySet<unknown> = new Set(['', '0', false, 'ZERO']);
/** The same order of fields, numbers as text, and no single field with its default value, which proto3 equates with an absent field. */
const normalized = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value !== 'object' || value === null) return typeof value === 'number' ? String(value) : value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, normalized(one)] as const)
      .filter(([, one]) => !DEFAULTS.has(one))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
};
const messageOfRejection = (act: () => unknown): string => {
  try {
    act();
    return '';
  } catch (error) {
    return String((error as Error).message);
  }
};
/** Inputs that the reader rejects and protobufjs skips, each with the reason. */
const CHOICES: readonly (readonly [message: RegExp, reason: string])[] = [
  [/wrong wire type/, 'a known field with another wire type belongs to another kind of message'],
  [/more than 10 bytes/, 'no number has more than 10 bytes, not even in an unknown field'],
  [/unsupported wire type [34]/, 'groups do not exist in proto3'],
];
const choiceOf = (own: Outcome, read: () => unknown): string | undefined => {
  if (own !== 'rejected') return undefined;
  const message = messageOfRejection(read);
  return CHOICES.find(([pattern]) => pattern.test(message))?.[1];
};

test('the protobuf reader agrees with protobufjs', async () => {
  const result = await compareReaders({
    name: 'protobuf',
    generate: bytesFrom,
    show: (bytes) => bytes.toString('hex'),
    own: (bytes) => outcomeOf(() => normalized(decode(shape, bytes)), isForeseen),
    reference: (bytes) =>
      outcomeOf(
        () =>
          normalized(Outer.toObject(Outer.decode(bytes), { longs: String, enums: String, bytes: String })),
        isForeseen,
      ),
    choice: (bytes, own) => choiceOf(own, () => decode(shape, bytes)),
  });
  expect(result.differences).toEqual([]);
  expect(result.accepted).toBeGreaterThan(result.cases / 4);
  expect(result.rejected).toBeGreaterThan(result.cases / 20);
}, 3_600_000);

test.each([
  ['a length', '0a8080808080808080805e'],
  ['a length of zeros', '0a808080808000'],
  ['the length of an unknown field', '4a8080808080808080805e'],
  ['a tag', '8a808080800000'],
  ['the tag of an unknown field', 'ca808080800000'],
])('the protobuf reader rejects %s of more than 5 bytes, as protobufjs does', (_, hex) => {
  const bytes = Buffer.from(hex, 'hex');
  expect(() => Outer.decode(bytes)).toThrow();
  expect(() => decode(shape, bytes)).toThrow('has more than 5 bytes');
  expect(() => bytesField(bytes, 1)).toThrow('has more than 5 bytes');
});

test('protobufjs reads what the writer writes', async () => {
  const result = await compareReaders({
    name: 'protobuf writer',
    generate: messageFrom,
    show: (message) => JSON.stringify(message),
    own: (message) => ({ value: normalized(message) }),
    reference: (message) => {
      const read = Outer.decode(encode(shape, message));
      return { value: normalized(Outer.toObject(read, { longs: String, enums: String, bytes: String })) };
    },
  });
  expect(result.differences).toEqual([]);
}, 3_600_000);

/** Both readers of single fields, for messages that have no table. */
test('the readers of single fields agree with protobufjs', async () => {
  const result = await compareReaders({
    name: 'protobuf fields',
    generate: bytesFrom,
    show: (bytes) => bytes.toString('hex'),
    own: (bytes) =>
      outcomeOf(
        () => ({
          key: bytesField(bytes, 1)?.toString('base64') ?? '',
          small: numberField(bytes, 3),
        }),
        isForeseen,
      ),
    reference: (bytes) =>
      outcomeOf(() => {
        const { key, small } = Fields.toObject(Fields.decode(bytes), {
          longs: String,
          bytes: String,
          defaults: true,
        });
        return { key, small: Number(small) };
      }, isForeseen),
    choice: (bytes, own) => choiceOf(own, () => numberField(bytes, 3)),
  });
  expect(result.differences).toEqual([]);
}, 3_600_000);

test('a packed list without values is absent, as in the JSON of the gateway', () => {
  expect(decode(inner, Buffer.from('1a00', 'hex'))).toEqual({});
  expect(decode(inner, Buffer.from('1a001a01011a00', 'hex'))).toEqual({ kinds: ['ONE'] });
});

/** The readers of JSON that arrives in pieces, compared with JSON.parse, and the readers of YAML, compared with the `yaml` package. */
import { expect, test } from 'vitest';
import { isCollection, parse as parseReference, parseAllDocuments, parseDocument, visit } from 'yaml';
import { JsonRows } from '../../src/api/list-rows.ts';
import { jsonLines, parseJsonRows, repeatedKeyIn, restoreNumbers } from '../../src/core/json.ts';
import { AppError } from '../../src/core/problem.ts';
import { fieldProblem, plainDocuments, plainYaml, yamlText } from '../../src/core/yaml.ts';
import { jsonObjects } from '../../src/kv/client/watch.ts';
import { parse, parseDocument as parseLimited } from '../../src/platform/yaml.ts';
import type { Random } from '../simulator/kernel/random.ts';
import { type Outcome, compareReaders, outcomeOf, piecesOf } from './cases.ts';

const STRINGS = [
  '',
  'a',
  'größe',
  '💥',
  '"',
  '\\',
  '\\"',
  '{',
  '}',
  '[',
  ']',
  ',',
  '\n',
  '}{',
  '\\\\',
  'Zürich',
  '\ue000',
  '\ue0001',
  '\0',
];
const NUMBERS = ['0', '-1', '1.5', '1e3', '12345678901234567890', '0.1', '1e400', '-0'];
const SPACES = ['', '', '', ' ', '\n', '\t', '\r\n '];
/** JSON text with any white space, with numbers that JavaScript cannot hold and any escapes. */
const jsonFrom = (random: Random, depth = 0): string => {
  const space = (): string => random.pick(SPACES);
  const text = (): string => {
    const json = JSON.stringify(Array.from({ length: random.below(4) }, () => random.pick(STRINGS)).join(''));
    return random.chance(0.2) ? json.replaceAll('a', '\\u0061') : json;
  };
  const list = <T>(make: () => T): T[] => Array.from({ length: random.below(4) }, make);
  const kind = random.below(depth > 4 ? 3 : 5);
  if (kind === 0) return random.pick(['true', 'false', 'null', random.pick(NUMBERS)]);
  if (kind < 3) return text();
  if (kind === 3)
    return `[${space()}${list(() => jsonFrom(random, depth + 1)).join(`${space()},${space()}`)}${space()}]`;
  const members = list(() => `${text()}${space()}:${space()}${jsonFrom(random, depth + 1)}`);
  return `{${space()}${members.join(`,${space()}`)}${space()}}`;
};
const SIGNS = ['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '1', 'a', '\xa0', '\ufeff', '\x0b', '\u2028'];
/** Bytes with a few changes, in some of the cases. */
const withFaults = (text: string, random: Random): Buffer => {
  let bytes = Buffer.from(text);
  while (random.chance(0.3)) {
    const at = random.below(bytes.length + 1);
    const put = random.chance(0.8) ? Buffer.from(random.pick(SIGNS)) : random.bytes(1);
    bytes = random.chance(0.2)
      ? bytes.subarray(0, at)
      : Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + random.below(2))]);
  }
  return bytes;
};
const isForeseen = (error: unknown): boolean =>
  error instanceof AppError || error instanceof SyntaxError || (error as Error).constructor === Error;
const strictText = (bytes: Buffer): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
const reference = (read: () => unknown): Outcome => {
  try {
    return { value: read() };
  } catch {
    return 'rejected';
  }
};
const showBytes = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1'));
const rowsOf = (bytes: Buffer, random: Random): Uint8Array[] => {
  const rows = new JsonRows('a list');
  const found = piecesOf(bytes, random).flatMap((piece) => rows.push(piece));
  rows.end();
  return found;
};
const enough = (result: { accepted: number; rejected: number; cases: number }): void => {
  expect(result.accepted).toBeGreaterThan(result.cases / 5);
  expect(result.rejected).toBeGreaterThan(result.cases / 20);
};
const listFrom = (random: Random): Buffer => {
  const rows = Array.from({ length: random.below(6) }, () => jsonFrom(random));
  const bytes = withFaults(
    `[${rows.join(`${random.pick(SPACES)},${random.pick(SPACES)}`)}]${random.pick(SPACES)}`,
    random,
  );
  // The caller passes a body to this reader only if its first character opens a list.
  return bytes[0] === 0x5b ? bytes : Buffer.concat([Buffer.from('['), bytes]);
};

test('the rows of a JSON list that arrives in pieces agree with JSON.parse', async () => {
  const result = await compareReaders({
    name: 'JSON rows',
    generate: listFrom,
    show: showBytes,
    own: (bytes, random) =>
      outcomeOf(
        () => JSON.parse(restoreNumbers(JSON.stringify(parseJsonRows(rowsOf(bytes, random))))),
        isForeseen,
      ),
    reference: (bytes) => reference(() => JSON.parse(strictText(bytes))),
  });
  expect(result.differences).toEqual([]);
  enough(result);
}, 3_600_000);

test('the lines of a JSON list keep each value', async () => {
  const result = await compareReaders({
    name: 'JSON lines',
    generate: listFrom,
    show: showBytes,
    own: (bytes, random) =>
      outcomeOf(
        () =>
          jsonLines(rowsOf(bytes, random))
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line)),
        isForeseen,
      ),
    reference: (bytes) => reference(() => JSON.parse(strictText(bytes))),
  });
  expect(result.differences).toEqual([]);
  enough(result);
}, 3_600_000);

const objectsIn = async (bytes: Buffer, random: Random): Promise<Outcome> => {
  const found: unknown[] = [];
  const pieces = piecesOf(bytes, random);
  try {
    for await (const object of jsonObjects(
      (async function* () {
        yield* pieces;
      })(),
    ))
      found.push(object);
    return { value: found };
  } catch (error) {
    if (!isForeseen(error)) throw error;
    return 'rejected';
  }
};
test('the objects of a JSON stream agree with JSON.parse', async () => {
  const result = await compareReaders<Buffer>({
    name: 'JSON objects',
    generate: (random) => {
      const objects = Array.from(
        { length: random.below(5) },
        () => `{"result":${jsonFrom(random)}}${random.pick(SPACES)}`,
      );
      return withFaults(objects.join(''), random);
    },
    show: showBytes,
    own: objectsIn,
    reference: (bytes) =>
      reference(() => {
        const text = strictText(bytes);
        // The first prefix that JSON.parse accepts is the first object.
        const found: unknown[] = [];
        for (let from = 0; text.slice(from).trim() !== ''; ) {
          const start = from;
          for (let end = text.indexOf('}', from); ; end = text.indexOf('}', end + 1)) {
            if (end < 0) throw new Error('the last object is open');
            const value = reference(() => JSON.parse(text.slice(start, end + 1)));
            if (value === 'rejected') continue;
            if (typeof value.value !== 'object') throw new Error('not an object');
            found.push(value.value);
            from = end + 1;
            break;
          }
        }
        return found;
      }),
  });
  expect(result.differences).toEqual([]);
  enough(result);
}, 3_600_000);

test('a repeated key of a JSON text is found as a map of the package yaml finds it', async () => {
  const result = await compareReaders({
    name: 'repeated JSON keys',
    generate: (random) => {
      const one = (depth: number): string => {
        if (depth > 2 || random.chance(0.3)) return random.pick(['1', '"a:b"', '":"', '"\\""', '[]']);
        const members = Array.from(
          { length: random.below(4) },
          () => `${random.pick(['"a"', '"b"', '"\\u0061"', '"a:"', '":"'])}:${one(depth + 1)}`,
        );
        return `{${members.join(',')}}`;
      };
      return `[${one(0)},${one(0)}]`;
    },
    show: (text) => text,
    own: (text) => ({ value: repeatedKeyIn(text, JSON.parse(text)) !== undefined }),
    reference: (text) => ({
      value: parseDocument(text, { uniqueKeys: true }).errors.some(({ code }) => code === 'DUPLICATE_KEY'),
    }),
  });
  expect(result.differences).toEqual([]);
}, 3_600_000);

const WORDS = [
  ...[
    'a',
    'b',
    'yes',
    'null',
    '~',
    'true',
    '1',
    '012',
    '0x1f',
    '1e3',
    '.5',
    '"a"',
    '"a\\n"',
    "'a'",
    "'it''s'",
  ],
  ...[
    '[a, b]',
    '["a"]',
    '{}',
    '{a: 1}',
    '|',
    '|-',
    '>',
    '&x a',
    '*x',
    '!!str 1',
    '# c',
    'a # c',
    'a: b',
    '- a',
    'Ä',
    '2024-01-01',
  ],
];
const KEYS = ['a', 'b', 'key', '"a b"', "'k'", '1', 'yes', 'null', '<<', '? a', '__proto__', 'a b', '"a"'];
const yamlLine = (random: Random): string => {
  const indent = ' '.repeat(random.pick([0, 0, 2, 2, 4, 1, 3]));
  const value = random.chance(0.3) ? '' : ` ${random.pick(WORDS)}`;
  switch (random.below(7)) {
    case 0:
      return `${indent}- ${random.pick(WORDS)}`;
    case 1:
      return `${indent}- ${random.pick(KEYS)}:${value}`;
    case 2:
      return random.pick(['---', '# comment', '', '...', '%YAML 1.2', `${indent}text`]);
    default:
      return `${indent}${random.pick(KEYS)}:${value}`;
  }
};
const valueFrom = (random: Random, depth = 0): unknown => {
  const list = <T>(make: () => T): T[] => Array.from({ length: 1 + random.below(3) }, make);
  if (depth === 0 || (depth < 4 && random.chance(0.3)))
    return Object.fromEntries(
      list(() => [random.pick(['a', 'b', 'key', 'x y', 'no', '1']), valueFrom(random, depth + 1)]),
    );
  if (depth < 4 && random.chance(0.2)) return list(() => valueFrom(random, depth + 1));
  return random.pick<unknown>([
    1,
    0,
    -7,
    true,
    null,
    'a',
    'yes',
    'a\nb\n',
    'a: b',
    '',
    ' x',
    '# c',
    'ü',
    [],
    {},
  ]);
};
/** Lines of any kind, or a text that the program writes, with or without a change. */
const yamlFrom = (random: Random): string => {
  if (random.chance(0.5))
    return `${Array.from({ length: 1 + random.below(6) }, () => yamlLine(random)).join('\n')}\n`;
  let text = yamlText(valueFrom(random) as object);
  while (random.chance(0.4)) {
    const at = random.below(text.length + 1);
    text =
      text.slice(0, at) +
      random.pick([' ', '\n', ':', '-', '"', '#', '|', '\t', 'a', '- ', '---\n', '&a ', '{']) +
      text.slice(at + random.below(2));
  }
  return text;
};
const referenceDocuments = (text: string): unknown[] => {
  const documents = parseAllDocuments(text);
  if ('empty' in documents) return [];
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw error;
  return documents.map((document) => document.toJS());
};

test('the reader of written YAML agrees with the package yaml, or leaves the text to it', async () => {
  let left = 0;
  const result = await compareReaders({
    name: 'written YAML',
    generate: yamlFrom,
    show: (text) => JSON.stringify(text),
    own: (text) => {
      const own = plainYaml(text);
      if (own !== undefined) return { value: [own.value] };
      left += 1;
      return 'rejected';
    },
    reference: (text) => reference(() => referenceDocuments(text)),
    choice: (_, own) => (own === 'rejected' ? 'left to the package' : undefined),
  });
  expect(result.differences).toEqual([]);
  expect(left).toBeLessThan(result.cases);
  expect(result.accepted - result.explained).toBeGreaterThan(result.cases / 30);
}, 3_600_000);

test('the documents of written YAML agree with the package yaml, or are left to it', async () => {
  const result = await compareReaders({
    name: 'written YAML documents',
    generate: (random) => Array.from({ length: 1 + random.below(3) }, () => yamlFrom(random)).join('---\n'),
    show: (text) => JSON.stringify(text),
    own: (text) => {
      const own = plainDocuments(text);
      return own === undefined ? 'rejected' : { value: own.map(({ value }) => value) };
    },
    reference: (text) => reference(() => referenceDocuments(text)),
    choice: (_, own) => (own === 'rejected' ? 'left to the package' : undefined),
  });
  expect(result.differences).toEqual([]);
}, 3_600_000);

/**
 * The documented choices: `<<` merges maps, as YAML 1.1 defines it and as other tools for clusters read their files. A name in a
 * block of text does not end with the line end of the block. A key is no list or map, which JSON cannot have.
 */
const hasCollectionKey = (text: string): boolean => {
  let hasFound = false;
  visit(parseDocument(text, { merge: true, logLevel: 'silent' }), {
    Pair: (_, { key }) => {
      hasFound ||= isCollection(key);
    },
  });
  return hasFound;
};
const isNameInBlock = (text: string): boolean =>
  parseLimited(text).errors.some((error) => fieldProblem(error) !== undefined);
test('the general reader with its limits agrees with the package yaml', async () => {
  const result = await compareReaders({
    name: 'YAML',
    generate: yamlFrom,
    show: (text) => JSON.stringify(text),
    own: (text) => reference(() => parse(text)),
    reference: (text) => reference(() => parseReference(text, { logLevel: 'error', merge: true })),
    choice: (text, own) => {
      if (own !== 'rejected') return undefined;
      if (isNameInBlock(text)) return 'a name in a block';
      return hasCollectionKey(text) ? 'a list or a map as a key' : undefined;
    },
  });
  expect(result.differences).toEqual([]);
  enough(result);
}, 3_600_000);

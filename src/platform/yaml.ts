import {
  Document,
  LineCounter,
  YAMLParseError,
  parseAllDocuments as parseAll,
  parseDocument as parseOne,
  stringify as write,
  visit,
} from 'yaml';
import { documentFrom, documentsFrom, yamlOptions, yamlValue } from '../core/yaml.ts';
import type { ScalarTag } from '../core/yaml-scalars.ts';

// The only file that loads the package. It is CommonJS: these static names stay when a bundler splits a lazy import of this file.
export { type Document as YamlDocument, LineCounter, Scalar, isMap, isNode, isScalar, isSeq } from 'yaml';

/** Characters that end a line for readers of YAML 1.1, such as kubectl and Ansible, or that they reject, and their word `=`. */
const needsQuotes = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|^=$/;
const needEscapes = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;
/**
 * Writes a value as one document without aliases, which readers of YAML 1.1 and 1.2 read as the same value. A text that a
 * reader could take for a number, a date, a boolean or a line end is in quotes.
 */
export const stringify = (
  value: unknown,
  { lineWidth = 80, ...form }: { readonly lineWidth?: number; readonly collectionStyle?: 'flow' } = {},
): string => {
  const options = { compat: 'yaml-1.1', aliasDuplicateObjects: false } as const;
  const text = write(value, { ...options, ...form, lineWidth });
  if (text.search(needEscapes) < 0 && !/(?:^|[\s:-])=(?:$|:)/m.test(text)) return text;
  const document = new Document(value, options);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && needsQuotes.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document
    .toString({ ...form, lineWidth })
    .replaceAll(needEscapes, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
};

/** Parses one document. Rejects text that the package would take too long for. */
export const parseDocument = (
  text: string,
  lines = new LineCounter(),
  { customTags = [], ...options }: { readonly mayHaveNul?: boolean; readonly customTags?: ScalarTag[] } = {},
): Document.Parsed =>
  documentFrom(text, {
    ...options,
    YamlError: YAMLParseError,
    lines,
    parse: (given) => parseOne(given, { ...yamlOptions, customTags, lineCounter: lines }),
  });

/** Parses all documents of a text with the limits of `parseDocument`. A text with comments only has no document. */
export const parseAllDocuments = (text: string, lines = new LineCounter()): Document.Parsed[] =>
  documentsFrom(text, {
    YamlError: YAMLParseError,
    lines,
    parse: (given) => {
      const options = { ...yamlOptions, lineCounter: lines };
      const documents = parseAll(given, options);
      if (!('empty' in documents)) return documents;
      return given === '' ? [parseOne(given, options)] : [];
    },
  });

/** Returns the value of one document. Throws the first error of the text. */
export const parse = (text: string): unknown => {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const read = yamlValue(document);
  if ('problem' in read) throw new Error(read.problem);
  return read.value;
};

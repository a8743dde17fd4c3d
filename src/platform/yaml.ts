import {
  type Document,
  LineCounter,
  YAMLParseError,
  parseAllDocuments as parseAll,
  parseDocument as parseOne,
} from 'yaml';
import { documentFrom, documentsFrom, yamlOptions, yamlValue } from '../core/yaml.ts';
import type { ScalarTag } from '../core/yaml-scalars.ts';

// The only file that loads the package. It is CommonJS: these static names stay when a bundler splits a lazy import of this file.
export {
  type Document as YamlDocument,
  LineCounter,
  Scalar,
  isMap,
  isNode,
  isScalar,
  isSeq,
  stringify,
} from 'yaml';

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

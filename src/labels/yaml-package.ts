import {
  type Document,
  LineCounter,
  YAMLParseError,
  parseAllDocuments as parseAll,
  parseDocument,
} from 'yaml';
import { documentsFrom, yamlOptions } from '../core/yaml.ts';

// Static names for a CommonJS package: behind the bundler's splitting a lazy import of it would only have `default`.
export {
  type Document as YamlDocument,
  LineCounter,
  isMap,
  isNode,
  isScalar,
  isSeq,
} from 'yaml';

/** The same, and no text that the package would take too long for. Comments alone are no document. */
export const parseAllDocuments = (text: string, lineCounter = new LineCounter()): Document.Parsed[] =>
  documentsFrom(text, {
    YamlError: YAMLParseError,
    lines: lineCounter,
    parse: (given) => {
      const options = { ...yamlOptions, lineCounter };
      const documents = parseAll(given, options);
      if (!('empty' in documents)) return documents;
      return given === '' ? [parseDocument(given, options)] : [];
    },
  });

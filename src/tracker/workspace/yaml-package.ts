import { type Document, LineCounter, YAMLParseError, parseDocument as parse } from 'yaml';
import { documentFrom, yamlOptions } from '../../core/yaml.ts';

export { LineCounter, isMap, isNode, isSeq } from 'yaml';

/** The same, and no text that the package would take too long for. */
export const parseDocument = (text: string, lines = new LineCounter()): Document.Parsed =>
  documentFrom(text, {
    YamlError: YAMLParseError,
    lines,
    parse: (given) => parse(given, { ...yamlOptions, lineCounter: lines }),
  });

import { type Document, LineCounter, YAMLParseError, parseDocument as parse } from 'yaml';
import { documentFrom, yamlOptions } from '../../../core/yaml.ts';

/** The package is CommonJS: this static re-export keeps its names when it is imported lazily. */
export { LineCounter, isMap, isScalar, stringify } from 'yaml';

/** The same, and no text that the package would take too long for. */
export const parseDocument = (text: string, lines = new LineCounter()): Document.Parsed =>
  documentFrom(text, {
    YamlError: YAMLParseError,
    lines,
    parse: (given) => parse(given, { ...yamlOptions, lineCounter: lines }),
  });

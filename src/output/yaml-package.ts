import { LineCounter, YAMLParseError, parseDocument } from 'yaml';
import { documentFrom, yamlOptions, yamlValue } from '../core/yaml.ts';

// Static name for a CommonJS package: behind esbuild's splitting a lazy import of it would only have `default`.
export { stringify } from 'yaml';

/** The value of a text; throws what is wrong with it. */
export const parse = (text: string): unknown => {
  const lines = new LineCounter();
  const document = documentFrom(text, {
    YamlError: YAMLParseError,
    lines,
    parse: (given) => parseDocument(given, { ...yamlOptions, lineCounter: lines }),
  });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const read = yamlValue(document);
  if ('problem' in read) throw new Error(read.problem);
  return read.value;
};

import { YAMLParseError, parseAllDocuments as parseAll, parseDocument } from 'yaml';
import { documentFrom, tooDeepAt } from '../core/yaml-depth.ts';

// Static names for a CommonJS package: behind the bundler's splitting a lazy import of it would only have `default`.
export {
  type Document as YamlDocument,
  LineCounter,
  isMap,
  isNode,
  isScalar,
  isSeq,
} from 'yaml';

/** The same, and no text that is too deep for the parser. */
export const parseAllDocuments = (
  text: string,
  options?: Parameters<typeof parseAll>[1],
): ReturnType<typeof parseAll> => {
  if (tooDeepAt(text) === undefined) return parseAll(text, options);
  return [documentFrom(text, YAMLParseError, (shallow) => parseDocument(shallow, options))];
};

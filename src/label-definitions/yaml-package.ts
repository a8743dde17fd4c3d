import { YAMLParseError, parseAllDocuments as parseAll, parseDocument } from 'yaml';
import { depthError } from '../core/yaml-depth.ts';

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
  const error = depthError(text, YAMLParseError);
  if (error === undefined) return parseAll(text, options);
  const document = parseDocument('', options);
  document.errors.push(error);
  return [document];
};

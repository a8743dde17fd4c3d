import { YAMLParseError, parseDocument as parse } from 'yaml';
import { documentFrom } from '../core/yaml-depth.ts';

export { LineCounter, isCollection, isNode, stringify } from 'yaml';

/** The same, and no text that is too deep for the parser. */
export const parseDocument = (
  text: string,
  options?: Parameters<typeof parse>[1],
): ReturnType<typeof parse> => documentFrom(text, YAMLParseError, (shallow) => parse(shallow, options));

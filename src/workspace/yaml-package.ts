import { YAMLParseError, parseDocument as parse } from 'yaml';
import { depthError } from '../core/yaml-depth.ts';

export { LineCounter, isCollection, isNode, stringify } from 'yaml';

/** The same, and no text that is too deep for the parser. */
export const parseDocument = (
  text: string,
  options?: Parameters<typeof parse>[1],
): ReturnType<typeof parse> => {
  const error = depthError(text, YAMLParseError);
  const document = parse(error === undefined ? text : '', options);
  if (error !== undefined) document.errors.push(error);
  return document;
};

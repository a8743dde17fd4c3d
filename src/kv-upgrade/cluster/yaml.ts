import { YAMLParseError, parseDocument as parse } from 'yaml';
import { documentFrom } from '../../core/yaml-depth.ts';

/** The package is CommonJS: this static re-export keeps its names when it is imported lazily. */
export { LineCounter, isMap, isScalar, stringify } from 'yaml';

/** The same, and no text that is too deep for the parser. */
export const parseDocument = (
  text: string,
  options?: Parameters<typeof parse>[1],
): ReturnType<typeof parse> => documentFrom(text, YAMLParseError, (shallow) => parse(shallow, options));

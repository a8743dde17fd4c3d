import {
  type ParseOptions,
  type DocumentOptions,
  type SchemaOptions,
  type ToJSOptions,
  YAMLParseError,
  parse as parsed,
} from 'yaml';
import { depthError } from '../core/yaml-depth.ts';

// Static name for a CommonJS package: behind esbuild's splitting a lazy import of it would only have `default`.
export { stringify } from 'yaml';

/** The same, and no text that is too deep for the parser. */
export const parse = (
  text: string,
  options?: ParseOptions & DocumentOptions & SchemaOptions & ToJSOptions,
): unknown => {
  const error = depthError(text, YAMLParseError);
  if (error !== undefined) throw error;
  return parsed(text, options);
};

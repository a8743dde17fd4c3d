import { messageOf } from './error-message.ts';

type Parsed = { toJS(options?: { maxAliasCount: number }): unknown };

/** Enough for any file written by hand; a file of aliases of aliases would fill the memory. */
const MAX_ALIASES = 100;

/** The value of a YAML document, or why it has none: an alias without an anchor, or too many aliases. */
export const yamlValue = (document: Parsed): { readonly value: unknown } | { readonly problem: string } => {
  try {
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
};

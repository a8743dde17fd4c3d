import { messageOf } from './error-message.ts';
import { limits } from './limits.ts';

type Parsed = { toJS(options?: { maxAliasCount: number }): unknown };

/** The value of a YAML document, or why it has none: an alias without an anchor, or too many aliases. */
export const yamlValue = (document: Parsed): { readonly value: unknown } | { readonly problem: string } => {
  try {
    // The anchor itself is counted as one of them.
    return { value: document.toJS({ maxAliasCount: limits.yamlAliases + 1 }) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
};

import { bare } from '../core/field.ts';
import { type Block, terms } from '../core/page.ts';
import type { Flag, Flags } from '../core/flag.ts';

/** A list that is too long for one line goes into the text. */
const LONGEST_VALUE = 24;

const isSwitch = (flag: Flag): boolean => bare(flag.field).type === 'boolean';
export const isRequired = ({ required, field }: Flag): boolean => required ?? field.required ?? false;

const flagRow = ([name, flag]: [string, Flag]): [string, string] => {
  const short = flag.short ? `-${flag.short}, ` : '    ';
  const word = flag.negated ? `--no-${name}` : `--${name}`;
  const value = isSwitch(flag) ? undefined : flag.value;
  const isLong = value !== undefined && value.length > LONGEST_VALUE && value.includes('|');
  const shown = value === undefined ? '' : ` <${isLong ? 'word' : value}>`;
  const words = isLong ? `: ${value.split('|').join(', ')}` : '';
  return [`${short}${word}${shown}`, `${flag.summary}${words}${isRequired(flag) ? ' (required)' : ''}`];
};
export const flagTerms = (flags: Flags): Block =>
  terms(
    Object.entries(flags)
      .filter(([, flag]) => !flag.hidden)
      .map(flagRow),
  );

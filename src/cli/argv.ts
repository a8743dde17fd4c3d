import { bare } from '../core/field.ts';
import type { Flag, Flags } from './command.ts';

const isSwitch = (flag: Flag): boolean => bare(flag.field).type === 'boolean';

const byShort = (flags: Flags, letter: string): [string, Flag] | undefined =>
  Object.entries(flags).find(([, flag]) => flag.short === letter);

/** `-v`, `-vq`, `-ojson`, `-o json`: as long flags. Undefined when a letter is not known. */
const longForm = (token: string, flags: Flags): string[] | undefined => {
  const found: string[] = [];
  for (let i = 1; i < token.length; i++) {
    const known = byShort(flags, token[i] ?? '');
    if (known === undefined) return undefined;
    const rest = token.slice(i + 1);
    if (!isSwitch(known[1]))
      return [...found, rest === '' ? `--${known[0]}` : `--${known[0]}=${rest.replace(/^=/, '')}`];
    found.push(`--${known[0]}`);
  }
  return found;
};

/**
 * Makes every flag a long one with a value, so that the parser needs one rule: `--archived` → `--archived=true`,
 * `--no-browser` → `--browser=false`, `-o json` → `--output json`. What it does not know it leaves alone.
 */
export const normalize = (argv: readonly string[], flags: Flags): string[] => {
  const out: string[] = [];
  const queue = [...argv];
  for (let token = queue.shift(); token !== undefined; token = queue.shift()) {
    if (token === '--') return [...out, token, ...queue];
    const long = /^-[A-Za-z]/.test(token) ? longForm(token, flags) : undefined;
    if (long === undefined) out.push(withValue(token, queue, flags));
    else queue.unshift(...long);
  }
  return out;
};

/** A token as a flag with its value, which may be the next of the queue; what is no known flag stays as it is. */
const withValue = (token: string, queue: string[], flags: Flags): string => {
  if (!token.startsWith('--') || token.includes('=')) return token;
  const name = token.slice(2);
  const flag = flags[name];
  if (flag && isSwitch(flag)) {
    const next = queue[0];
    return `${token}=${next === 'true' || next === 'false' ? queue.shift() : 'true'}`;
  }
  const negated = name.startsWith('no-') ? flags[name.slice(3)] : undefined;
  if (negated && isSwitch(negated)) return `--${name.slice(3)}=false`;
  // A value may start with a dash: `--name -5`, `--body -`.
  return flag && queue.length > 0 ? `${token}=${queue.shift()}` : token;
};

/** How many tokens a global flag takes here: 0 when it is none. */
const globalWidth = (token: string, next: string | undefined, globals: Flags): number => {
  const known = normalize([token], globals);
  const last = known[known.length - 1] ?? '';
  if (!known.every((t) => globals[t.slice(2).split('=')[0] ?? ''])) return 0;
  const flag = globals[last.slice(2).split('=')[0] ?? ''];
  if (flag && isSwitch(flag)) return !token.includes('=') && (next === 'true' || next === 'false') ? 2 : 1;
  return last.includes('=') || next === undefined ? 1 : 2;
};

export type Words = {
  readonly words: readonly string[];
  /** Where each word stands in the line. */
  readonly places: readonly number[];
  /** The flag at which the words end because it is not a global one. */
  readonly stop?: string;
};

/** The words before the first flag that is not a global one: those that may name a command. */
export const wordsOf = (argv: readonly string[], globals: Flags): Words => {
  const words: string[] = [];
  const places: number[] = [];
  for (let i = 0; i < argv.length; ) {
    const token = argv[i] ?? '';
    if (!token.startsWith('-') || token === '-') {
      words.push(token);
      places.push(i);
      i += 1;
      continue;
    }
    if (token === '--') break;
    const width = globalWidth(token, argv[i + 1], globals);
    if (width === 0) return { words, places, stop: token };
    i += width;
  }
  return { words, places };
};

/** The line without its first `used` words, in the order in which it was typed. */
export const without = (argv: readonly string[], { places }: Words, used: number): string[] => {
  const gone = new Set(places.slice(0, used));
  return argv.filter((_, i) => !gone.has(i));
};

/** The first flag of a line that nobody knows, as it was typed and without its value. Expects what `normalize` made. */
export const unknownFlag = (tokens: readonly string[], flags: Flags): string | undefined => {
  for (const token of tokens) {
    if (token === '--') return undefined;
    if (!token.startsWith('-') || token === '-' || /^-[\d.]/.test(token)) continue;
    const name = /^--([^=]+)/.exec(token)?.[1];
    if (name === undefined || !Object.hasOwn(flags, name)) return token.split('=')[0];
  }
  return undefined;
};

declare const nameBrand: unique symbol;
declare const argumentsBrand: unique symbol;
/** The name or path of a program that opsctl may start. */
export type ProgramName = string & { readonly [nameBrand]: true };
/** Arguments of a program. Only this file makes them, so text from outside cannot become a flag. */
export type ProgramArguments = readonly string[] & { readonly [argumentsBrand]: true };
/** A program with its arguments, for `Host.processes`. */
export type ProgramCall = readonly [program: ProgramName, args: ProgramArguments];

/** Arguments that this file made, with their program. A cast changes a type, and not this record. */
const made = new WeakMap<readonly string[], string | undefined>();
const makeArguments = (words: readonly string[], program?: string): ProgramArguments => {
  const args = Object.freeze([...words]) as ProgramArguments;
  made.set(args, program);
  return args;
};
/** Arguments of programs that the source names, not the person who runs opsctl. */
const named = new WeakSet<readonly string[]>();
type Env = Readonly<Record<string, string | undefined>>;
/**
 * Removes the relative and empty entries of PATH for a program that the source names: with them, a file of the current
 * directory that is called `git` or `ssh` would run. A program that a person names keeps the PATH of that person.
 */
const absoluteEnv = (env: Env, platform: string): Env => {
  if (env.PATH === undefined || platform === 'win32') return env;
  const absolute = env.PATH.split(':').filter((entry) => entry.startsWith('/'));
  // An empty PATH means the current directory. Without PATH, the default of the system counts.
  return { ...env, PATH: absolute.length === 0 ? undefined : absolute.join(':') };
};
/** A program that starts opsctl, such as a ProxyCommand of ssh, needs them to find the account. They contain no secret. */
const placesOfOpsctl = ['OPSCTL_HOME', 'OPSCTL_PROFILE'];
/** The variables without those of opsctl, which contain tokens and passwords. Only opsctl and programs of a person need them. */
export const withoutOwnVariables = (env: Env): Env =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('OPSCTL_') || placesOfOpsctl.includes(name)),
  );
/** The same for the options of a call: a program of a member needs no token, and may run as another user. */
export const hideOwnVariables = ({ env }: { readonly env: Env }): Record<string, undefined> =>
  Object.fromEntries(
    Object.keys(env).flatMap((name) => (name.startsWith('OPSCTL_') ? [[name, undefined]] : [])),
  );
/** The environment of a program that the source names. */
export const strictEnv = (env: Env, platform: string): Env => withoutOwnVariables(absoluteEnv(env, platform));
/** The environment of a call: see `strictEnv`. A program that a person names keeps the environment of that person. */
export const lookupEnv = (args: readonly string[], env: Env, platform: string): Env =>
  named.has(args) ? strictEnv(env, platform) : env;
const makeCall = ([program = '', ...args]: readonly string[]): ProgramCall => [
  program as ProgramName,
  makeArguments(args, program),
];
/** Throws unless this file made the call. Every start of a program goes through this check. */
export const assertProgramCall = (program: string, args: readonly string[]): void => {
  if (made.has(args) && made.get(args) === program) return;
  throw new TypeError('a program runs only with a call of the tag call, or of trustCall');
};

/** Arguments of the tag `args` may contain flags. A text may not, so a list of texts is not a value: its items cannot be flags. */
type Value = string | number | ProgramArguments;
const SHELL = /(?:^|\/)(?:sh|bash|dash|ash|ksh|zsh|fish|cmd|powershell|pwsh)(?:\.exe)?$/i;
type Line = { readonly words: string[]; isOpen: boolean; hasEnded: boolean; isFlag: boolean };
const addWord = (line: Line, word: string): void => {
  line.words.push(word);
  line.hasEnded ||= word === '--';
  line.isFlag = /^--?[^-=][^=]*$/.test(word);
};
/** A value follows its flag, or the end of the flags. In other places, a leading dash would make it a flag. */
const addValue = (line: Line, value: string): void => {
  if (value.includes('\0')) throw new TypeError('an argument of a program contains a zero byte');
  if (line.isOpen) {
    line.words.push(`${line.words.pop()}${value}`);
    return;
  }
  if (value.startsWith('-') && !line.hasEnded && !line.isFlag)
    throw new TypeError(`the argument ${JSON.stringify(value)} would be a flag of ${line.words[0]}`);
  line.words.push(value);
  line.isFlag = false;
  line.isOpen = true;
};
const addText = (line: Line, text: string): void => {
  const [first = '', ...rest] = text.split(/\s+/);
  if (first !== '' && line.isOpen) line.words.push(`${line.words.pop()}${first}`);
  else if (first !== '') addWord(line, first);
  for (const word of rest) if (word !== '') addWord(line, word);
  line.isOpen = text === '' ? line.isOpen : !/\s$/.test(text);
};
const addList = (line: Line, values: ProgramArguments): void => {
  if (!made.has(values)) throw new TypeError('a list of arguments comes from the tag args');
  if (line.isOpen) throw new TypeError('a list of arguments is a part of a word');
  for (const value of values) addWord(line, value);
};
const wordsOf = (texts: TemplateStringsArray, values: readonly Value[]): string[] => {
  const line: Line = { words: [], isOpen: false, hasEnded: false, isFlag: false };
  for (const [i, text] of texts.entries()) {
    addText(line, text);
    if (i === values.length) break;
    const value = values[i];
    // The type excludes it, but data from outside may lack a value that its type promises.
    if (value === undefined) throw new TypeError('a value of an argument is undefined');
    if (typeof value === 'object') addList(line, value);
    else addValue(line, String(value));
  }
  return line.words;
};
/** Arguments in the order of the text. A value is one word, or the end of a word such as `--name=${value}`. */
export const args = (texts: TemplateStringsArray, ...values: readonly Value[]): ProgramArguments =>
  makeArguments(wordsOf(texts, values));
/** A program that the source names, with its arguments. The value of a shell would be code: use `scriptText` and `trustCall`. */
export const call = (texts: TemplateStringsArray, ...values: readonly Value[]): ProgramCall => {
  if (!/^\s*[\w./-]+(?:\s|$)/.test(texts[0] ?? '')) throw new TypeError('the source does not name a program');
  const words = wordsOf(texts, values);
  if (values.length > 0 && SHELL.test(words[0] ?? ''))
    throw new TypeError('a value of a shell would be code');
  const made = makeCall(words);
  named.add(made[1]);
  return made;
};
/**
 * The command line that the person who runs opsctl wrote, or this program itself, with further arguments. The test
 * of program arguments lists every function that uses this, with the origin of its words.
 */
export const trustCall = (words: readonly string[], more: readonly string[] = args``): ProgramCall => {
  if (!made.has(more)) throw new TypeError('further arguments come from the tag args');
  return makeCall([...words, ...more]);
};
/** A program that the source names, with words that the person who runs opsctl wrote. See `trustCall`. */
export const trustWords = (
  program: string,
  words: readonly string[],
  more: readonly string[] = args``,
): ProgramCall => {
  const made = trustCall([program, ...words], more);
  named.add(made[1]);
  return made;
};
/** The call with changed words, such as the paths of copies. Its program keeps its rules. */
export const mapCall = (
  [program, given]: ProgramCall,
  change: (word: string, at: number) => string,
): ProgramCall => {
  assertProgramCall(program, given);
  const changed = makeCall([program, ...given].map(change));
  if (named.has(given)) named.add(changed[1]);
  return changed;
};

import {
  type DataFlags,
  type FlagRole,
  type Wrapper,
  dataPrograms,
  fileFlags,
  interpreters,
  operandReaders,
  passive,
  readers,
  shells,
  starters,
  wrappers,
} from './launchers.ts';
import { wordsOf } from './shell.ts';

export const nameOf = (program: string): string => program.replace(/^.*\//, '');
/** Where a command starts, if a wrapper changes it. */
type Place = { readonly root?: string; readonly directory?: string; readonly path?: string };
/**
 * A word of a command line that names a file to run. `script`: a file if it exists. `guess`: behind a flag
 * that no table describes, so that it counts only if it names a file that can be run. `code`: a file or a directory from which a
 * program loads code. `unlisted`: a command or a text that may start programs that no word names.
 */
export type RunnableWord = Place & {
  readonly word: string;
  readonly kind: 'program' | 'script' | 'guess' | 'code' | 'unlisted';
  /** The variable that contains the word. */
  readonly variable?: string;
};
const unlistedPart = (word: string): RunnableWord => ({ word, kind: 'unlisted' });

/**
 * Variables that make a trusted program run other code, with the names of the programs that read them. Few commands start git, a
 * pager or java, so their variables count only if a command line sets them.
 */
const codeVariables: readonly (readonly [
  readers: RegExp | 'every program' | 'some commands',
  names: string,
])[] = [
  [
    'every program',
    'LD_PRELOAD|LD_AUDIT|LD_LIBRARY_PATH|DYLD_\\w+|GCONV_PATH|OPENSSL_(?:CONF|MODULES|ENGINES)',
  ],
  [/^(?:sh|r?bash|dash|ash|[lm]?ksh|yash|zsh|busybox)$/, 'ENV'],
  [/^r?bash$/, 'BASH_ENV'],
  [/^zsh$/, 'ZDOTDIR'],
  [/^(?:python|pypy)[\d.]*$/, 'PYTHON(?:PATH|HOME|STARTUP|USERBASE|PYCACHEPREFIX|BREAKPOINT)'],
  [/^node(?:js)?$/, 'NODE_(?:OPTIONS|PATH)'],
  [/^perl[\d.]*$/, 'PERL(?:5LIB|LIB|5OPT|5DB)'],
  [/^ruby[\d.]*$/, 'RUBY(?:LIB|OPT)|GEM_(?:PATH|HOME)|BUNDLE_GEMFILE'],
  [/^lua(?:jit)?[\d.]*$/, 'LUA_(?:C?PATH|INIT)\\w*'],
  [/^php[\d.]*$/, 'PHPRC|PHP_INI_SCAN_DIR'],
  ['some commands', 'PROMPT_COMMAND|_JAVA_OPTIONS|J(?:AVA_TOOL|DK_JAVA)_OPTIONS|CLASSPATH'],
  [
    'some commands',
    'GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|DIR|COMMON_DIR)|GIT_CONFIG\\w*',
  ],
  [
    'some commands',
    '\\w*(?:EDITOR|PAGER|ASKPASS)|VISUAL|BROWSER|LESS(?:OPEN|CLOSE)|(?:RSYNC|CVS)_RSH|TAR_OPTIONS',
  ],
];
const CODE_VARIABLES = codeVariables.map(([, names]) => names).join('|');
const isCodeVariable = new RegExp(`^(?:${CODE_VARIABLES})$`);
/** Their values are command lines. */
const commandVariable = /(?:EDITOR|PAGER|ASKPASS|VISUAL|BROWSER|_RSH|GIT_SSH|_COMMAND)$/;
/** Flags of interpreters that load code by a name. */
const loadingFlag = /^-(?:[rMmI]|cp\b)|require|import|loader|agent|classpath/i;
/** A number, or a flag that loads no code, such as `--max-old-space-size=512`. */
const isDataWord = (word: string): boolean =>
  /^\d+$/.test(word) || (word.startsWith('-') && !word.includes('/') && !loadingFlag.test(word));
/** What a variable makes programs run. A value without a path is a name that opsctl cannot follow. Pure. */
export const variablePrograms = (name: string, value: string, place: Place = {}): RunnableWord[] => {
  if (!isCodeVariable.test(name)) return [];
  const words = value.split(/\s+/).filter((word) => word !== '' && !isDataWord(word));
  if (commandVariable.test(name) && words.every((word) => /^[\w.+-]+$/.test(word)))
    return runnableWords(words, place);
  return words
    .flatMap((word) => word.split(/[:=,;]+/).filter((part) => part !== ''))
    .map((part) =>
      part.includes('/')
        ? { ...place, word: part, kind: 'code', variable: name }
        : unlistedPart(`${name}=${value}`),
    );
};
/** What a variable of opsctl makes these programs run, which inherit it. `ENV` is also a common name for a stage, such as `eu/prod`. Pure. */
export const inheritedPrograms = (
  name: string,
  value: string,
  programs: readonly string[],
): RunnableWord[] => {
  const readers = codeVariables.find(([, names]) => new RegExp(`^(?:${names})$`).test(name))?.[0];
  const isRead =
    readers instanceof RegExp ? programs.some((one) => readers.test(one)) : readers === 'every program';
  return isRead && (name !== 'ENV' || value.startsWith('/')) ? variablePrograms(name, value) : [];
};
/** The names in the first line of a script, such as `env` and `python3`. Pure. */
export const scriptInterpreters = (start: string): string[] =>
  start.startsWith('#!')
    ? (start.slice(2).split('\n')[0] ?? '').split(/\s+/).filter(Boolean).map(nameOf)
    : [];

const roles = [
  'plain',
  'optional',
  'value',
  'code',
  'directory',
  'root',
  'text',
  'split',
  'script',
  'program',
] as const;
const has = (names: string | undefined, name: string): boolean =>
  names !== undefined && names.split(' ').includes(name);
const roleOf = (flags: Wrapper, name: string): FlagRole | undefined =>
  roles.find((role) => has(flags[role], name));
type Flag = { readonly role: FlagRole; readonly name: string; readonly value?: string };
/** The flags in one word, `-nu NAME` too. Undefined: the table does not describe one of them. */
const flagsIn = (flags: Wrapper, word: string): readonly Flag[] | undefined => {
  const [, long = '', , attached] = /^--([^=]+)(=([\s\S]*))?$/.exec(word) ?? [];
  if (long !== '') {
    const role = roleOf(flags, long);
    return role && [{ role, name: long, ...(attached === undefined ? {} : { value: attached }) }];
  }
  if (/^-\d*$/.test(word)) return [];
  const found: Flag[] = [];
  for (const [i, name] of [...word.slice(1)].entries()) {
    const role = roleOf(flags, name);
    if (role === undefined) return undefined;
    const rest = [...word.slice(1)].slice(i + 1).join('');
    if (role !== 'plain') return [...found, { role, name, ...(rest === '' ? {} : { value: rest }) }];
    found.push({ role, name });
  }
  return found;
};
/** Words in front of a command that only a shell knows. */
const isShellWord =
  /^\s*(?:command\s+)?(?:-p\s+)?(?:\.|source|cd|eval|builtin|trap|compgen|coproc|enable|mapfile|readarray|if|while|until|for|!)\s/;
/** The text without quotes, in which quoted operators and spaces separate nothing. */
const plainText = (text: string): string =>
  text.replaceAll(/'([^']*)'|"([^"$`\\]*)"/g, (_, single?: string, double?: string) =>
    (single ?? double ?? '').replaceAll(/[\s;&|(!<]/g, '_'),
  );
/** A shell text without operators and expansions is a command line. In other texts, every word may be a command. */
const textPrograms = (text: string, place: Place): RunnableWord[] =>
  /^[\w \t@%+=:,./'"-]+$/.test(text) && !isShellWord.test(plainText(text)) && !isAssignment.test(text)
    ? runnableWords(wordsOf(text) ?? [], place)
    : [...codePrograms(text, place, 'shell'), ...(isComputed(text) ? [unlistedPart(text)] : [])];
const isAssignment = /^\s*\w+\+?=/;
/** Words that build a command, read one, or change where a shell finds it. */
const computesCommand = new RegExp(
  `(?:^|[\\s;&|(!])(?:eval|trap|alias|read|mapfile|readarray|hash|enable|compgen)(?=\\s|$)|(?<![\\w/.-])(?:-[a-z]+)?(?:PATH|IFS|CDPATH|LD_\\w+|${CODE_VARIABLES})(?![\\w/.-])`,
);
/** A shell reads the commands from its input or from the output of a command. */
const readsInputOf = /(?:^|[\s;&|(!])(?:\.|source)\s+(?:<|\/dev\/|\/proc\/)/;
/** Returns whether a shell text may start a program whose name it does not contain literally. */
const isComputed = (text: string): boolean => {
  // Inside quotes, only these characters have a meaning. The exit code and process IDs name no program.
  const open = text.replaceAll(/'[^']*'|"[^"$`\\]*"/g, "''").replaceAll(/\$[?$#!]/g, '0');
  const plain = plainText(text);
  return (
    /[$`\\*?[~]|\{[^\s}]*[,.]|<<|(?:^|\s)#/.test(open) ||
    computesCommand.test(plain) ||
    readsInputOf.test(plain)
  );
};
/** The words in quotes of a code: a file name there may contain any character. */
const quotedWords = (text: string, place: Place): RunnableWord[] =>
  [...text.matchAll(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"/g)].map(([, single, double = '']) => ({
    ...place,
    word: single ?? double,
    kind: 'guess',
  }));
/** What one word of code may name: a file to run, or, in quotes, more code. */
const wordPrograms = (words: readonly string[], i: number, place: Place): RunnableWord[] => {
  const given = words[i] ?? '';
  const word = given.replace(/^(?:--)?[\w-]+=/, '');
  const kind = /^(?:\.|source)$/.test(words[i - 1] ?? '') ? 'script' : 'guess';
  const inner = /\s/.test(word) ? codePrograms(word, place) : [];
  const behind = interpreterOf(word) === undefined ? [] : runnableWords(words.slice(i), place).slice(1);
  const reader = i === 0 && readers.test(nameOf(word)) ? [unlistedPart(words.join(' '))] : [];
  return word === '' ? [] : [{ ...place, word, kind }, ...inner, ...behind, ...reader];
};
/** Returns whether the operands of a command in a shell text are data. What `echo` prints may become commands of a shell. */
const isDataCommand = ([word = '']: readonly string[]): boolean =>
  isOfSystem(word) &&
  !/^(?:echo|printf)$/.test(nameOf(word)) &&
  (passive.has(nameOf(word)) || Object.hasOwn(dataPrograms, nameOf(word)));
const guessOf = (found: RunnableWord): RunnableWord =>
  found.kind === 'program' ? { ...found, kind: 'guess' } : found;
/** The words of code that may name files to run, also in its quoted texts: a wrong guess names no such file. */
const codePrograms = (text: string, place: Place, language?: 'shell'): RunnableWord[] => {
  const found = quotedWords(text, place);
  let at = place;
  for (const part of text.split(/[;&|()<>`{}\r\n]+/)) {
    const command = language === 'shell' ? wordsOf(part) : undefined;
    if (command !== undefined && isDataCommand(command)) {
      found.push(...runnableWords(command, at).map(guessOf));
      continue;
    }
    const words = wordsOf(part) ?? part.split(/[\s'"]+/);
    for (const i of words.keys()) {
      if (words[i - 1] === 'cd') at = changeDirectory(at, words[i] ?? '');
      found.push(...wordPrograms(words, i, at));
    }
  }
  return found;
};
/** Code of a language other than the shell can compute every name. */
const languagePrograms = (text: string, place: Place): RunnableWord[] => [
  ...codePrograms(text, place),
  unlistedPart(text),
];
const changeDirectory = (place: Place, directory: string): Place => ({
  ...place,
  directory:
    directory.startsWith('/') || place.directory === undefined
      ? directory
      : `${place.directory}/${directory}`,
});
const enterRoot = ({ path }: Place, root: string): Place => ({
  ...(path === undefined ? {} : { path }),
  root,
});
type Reading = {
  readonly rest: string[];
  readonly found: RunnableWord[];
  readonly used: Flag[];
  readonly assigned: string[];
  place: Place;
  operands: number;
  isAfterFlags: boolean;
};
const readingOf = (rest: readonly string[], place: Place, { operands = 0 }: Wrapper): Reading => ({
  ...{ rest: [...rest], found: [], used: [], assigned: [], place, operands, isAfterFlags: false },
});
const applyFlag = (reading: Reading, flag: Flag): void => {
  const { rest, found, used, place } = reading;
  const { role } = flag;
  // A long flag of the role `plain` may have an optional value after `=`.
  if (role === 'plain' || role === 'optional') {
    used.push(flag);
    return;
  }
  const word = flag.value ?? rest.shift() ?? '';
  used.push({ ...flag, value: word });
  if (role === 'directory') reading.place = changeDirectory(place, word);
  if (role === 'root') reading.place = enterRoot(place, word);
  if (role === 'split') rest.unshift(...(wordsOf(word) ?? []));
  if (role === 'code') found.push(...languagePrograms(word, place));
  const [, command] = /^Exec\w+=[-@:+!|]*(.*)$/s.exec(role === 'value' ? word : '') ?? [];
  if (command !== undefined) found.push(...textPrograms(command, place));
  if (role === 'text') found.push(...textPrograms(word, place));
  if (role === 'program' || role === 'script') found.push({ ...place, word, kind: role });
};
const readFlags = (flags: Wrapper, reading: Reading, word: string): 'read' | 'unknown' => {
  const read = flagsIn(flags, word);
  for (const one of read ?? []) applyFlag(reading, one);
  if (!runsShell(flags, reading)) reading.operands = flags.shellUnless === undefined ? reading.operands : 0;
  return read === undefined ? 'unknown' : 'read';
};
const readOperand = (flags: Wrapper, reading: Reading, word: string): 'read' | 'command' => {
  if (reading.operands === 0 || flags.operand?.test(word) === false) return 'command';
  reading.operands -= 1;
  if (flags.entersRoot) reading.place = enterRoot(reading.place, word);
  return 'read';
};
const readWord = (flags: Wrapper, reading: Reading, word: string): 'read' | 'unknown' | 'command' => {
  if (!reading.isAfterFlags) {
    if (word === '--') {
      reading.isAfterFlags = true;
      return 'read';
    }
    if (word.startsWith('-') || (flags === shells && word.startsWith('+')))
      return readFlags(flags, reading, word);
  }
  const assigned = flags.assigns === true ? /^\w+=/.exec(word)?.[0] : undefined;
  if (assigned === undefined) return readOperand(flags, reading, word);
  reading.assigned.push(word);
  const value = word.slice(assigned.length);
  reading.found.push(...variablePrograms(assigned.slice(0, -1), value, reading.place));
  if (assigned === 'PATH=') reading.place = { ...reading.place, path: value };
  return 'read';
};
/** Reads flags, assignments and operands. Returns false at a flag that the table does not describe. */
const readFront = (flags: Wrapper, reading: Reading): boolean => {
  for (let word = reading.rest.shift(); word !== undefined; word = reading.rest.shift()) {
    const state = readWord(flags, reading, word);
    if (state === 'unknown') return false;
    if (state === 'command') {
      reading.rest.unshift(word);
      return true;
    }
  }
  return true;
};
const runsShell = ({ shellUnless }: Wrapper, { used }: Reading): boolean =>
  shellUnless !== undefined && !used.some(({ name }) => has(shellUnless, name));
const interpreterOf = (program: string): Wrapper | undefined =>
  interpreters.find(([name]) => name.test(nameOf(program)))?.[1];
const startsOthers = (word: string): boolean =>
  interpreterOf(word) !== undefined || Object.hasOwn(wrappers, nameOf(word));
/** Every word may be the command, and the words behind an interpreter its script. */
const guesses = ({ rest, place }: Pick<Reading, 'rest' | 'place'>): RunnableWord[] =>
  rest.flatMap((word, i): RunnableWord[] => [
    { ...place, word: word.replace(/^--[\w-]+=/, ''), kind: 'guess' },
    ...(startsOthers(word) ? runnableWords(rest.slice(i), place).slice(1) : []),
  ]);
/** The arguments of a program that no table describes: it may start each file that they name. */
const argumentPrograms = (rest: readonly string[], place: Place): RunnableWord[] => {
  const paths = rest.flatMap((word) => [word, ...word.split(/[\s=,;&|()<>`{}'":]+/)]);
  return [...new Set(paths)]
    .filter((word) => word.includes('/'))
    .map((word) => ({ ...place, word, kind: 'guess' }));
};
const starterPrograms = (rest: readonly string[], place: Place): RunnableWord[] => [
  ...guesses({ rest: [...rest], place }),
  ...argumentPrograms(rest, place),
  ...rest.flatMap((word) =>
    /\s|!/.test(word) ? textPrograms(word.replace(/^[\w.-]+[= ]!?/, ''), place) : [],
  ),
];
/** Old flags of tar have no dash, and their values follow in order. */
const withDashes = (flags: DataFlags, [first = '', ...rest]: readonly string[]): string[] => {
  if (!/^[a-zA-Z]+$/.test(first)) return [first, ...rest];
  const dashed = [...first].flatMap((letter) =>
    has(flags.commands, letter) || has(flags.values, letter) ? [`-${letter}`, rest.shift() ?? ''] : [],
  );
  return [...dashed, ...rest];
};
type ValueFlag = { readonly isCommand: boolean; readonly value: string };
/** The flag with a value in this word. An empty value is the next word. */
const valueFlagIn = ({ commands = '', values, exact }: DataFlags, word: string): ValueFlag | undefined => {
  const [, long, value = ''] = /^--([^=]+)=?([\s\S]*)$/.exec(word) ?? [];
  if (long !== undefined) {
    const isCommand =
      !has(exact, long) && commands.split(' ').some((name) => name.length > 1 && name.startsWith(long));
    return isCommand ? { isCommand, value } : undefined;
  }
  for (const [i, letter] of [...word.slice(1)].entries())
    if (has(commands, letter) || has(values, letter))
      return { isCommand: has(commands, letter), value: word.slice(i + 2) };
  return undefined;
};
/** The commands in the flags of a program whose operands are data. */
const flagCommands = (flags: DataFlags, words: readonly string[]): string[] => {
  const found: string[] = [];
  const rest = [...words];
  let operands = 0;
  for (let word = rest.shift(); word !== undefined && word !== '--'; word = rest.shift()) {
    if (!word.startsWith('-')) operands += 1;
    if (operands === flags.operands) break;
    const flag = word.startsWith('-') ? valueFlagIn(flags, word) : undefined;
    if (flag === undefined) continue;
    const value = flag.value === '' ? (rest.shift() ?? '') : flag.value;
    if (flag.isCommand) found.push(value);
  }
  return found;
};
const dataCommands = (
  name: string,
  flags: DataFlags,
  rest: readonly string[],
  place: Place,
): RunnableWord[] => {
  if (rest.some((word) => has(flags.starting, word))) return starterPrograms(rest, place);
  const words = name === 'tar' ? withDashes(flags, rest) : rest;
  const found = starterPrograms(flagCommands(flags, words), place);
  // The shell of the other host computes words too, although opsctl checks no files there.
  const remote = name === 'ssh' ? starterPrograms(rest, place).filter(({ kind }) => kind === 'unlisted') : [];
  return [...found, ...remote];
};
/** The files with commands that a reader gets. They need no permission to run. */
const commandFiles = (name: string, rest: readonly string[], place: Place): RunnableWord[] =>
  rest.flatMap((word, i): RunnableWord[] => {
    const attached = /^(?:-[fSsx]|--(?:file|makefile|init|command|source|inventory)=)(\S+)$/.exec(word)?.[1];
    const isFile = fileFlags.test(rest[i - 1] ?? '') || (operandReaders.test(name) && !word.startsWith('-'));
    return [
      ...(isFile ? [{ ...place, word, kind: 'script' as const }] : []),
      ...(attached === undefined ? [] : [{ ...place, word: attached, kind: 'script' as const }]),
    ];
  });
/** An own program may have any name. */
const isOfSystem = (word: string): boolean => !word.includes('/') || /^\/(?:usr\/)?s?bin\/[^/]+$/.test(word);
/** A program that no table describes starts what an interpreter or a wrapper among its arguments would start. */
const behindUnlisted = (word: string, rest: readonly string[], place: Place): RunnableWord[] =>
  rest.flatMap((one, i): RunnableWord[] =>
    startsOthers(one) && (isOfSystem(word) || one.includes('/') || i < rest.length - 1)
      ? runnableWords(rest.slice(i), place).slice(1).map(guessOf)
      : [],
  );
const argumentsOf = (word: string, rest: readonly string[], place: Place): RunnableWord[] => {
  const name = nameOf(word);
  if (passive.has(name) && isOfSystem(word)) return [];
  if (readers.test(name)) return [...starterPrograms(rest, place), ...commandFiles(name, rest, place)];
  if (starters.has(name)) return starterPrograms(rest, place);
  const flags = isOfSystem(word) && Object.hasOwn(dataPrograms, name) ? dataPrograms[name] : undefined;
  return flags === undefined
    ? [...argumentPrograms(rest, place), ...behindUnlisted(word, rest, place)]
    : dataCommands(name, flags, rest, place);
};
/** Files through which a program reads its standard input. */
const isInput = (word: string | undefined): boolean =>
  word !== undefined && /^(?:-|\/dev\/(?:stdin|tty|fd\/.*)|\/proc\/.*\/fd\/.*)$/.test(word);
const behindInterpreter = (flags: Wrapper, reading: Reading): RunnableWord[] => {
  const isKnown = readFront(flags, reading);
  const { rest, found, used, place } = reading;
  const scripts = (words: readonly string[]): RunnableWord[] =>
    words.map((word) => ({ ...place, word, kind: 'script' }));
  // Behind an unknown flag, the next word is its value or the script.
  if (!isKnown)
    return [
      ...found,
      ...scripts(rest.filter((word) => !word.startsWith('-')).slice(0, 2)),
      ...argumentPrograms(rest, place),
      unlistedPart(rest.join(' ')),
    ];
  const [word, ...more] = rest;
  if (used.some(({ role }) => role === 'code')) return [...found, ...argumentPrograms(rest, place)];
  const hasFile = flags.readsCode === true && used.some(({ role }) => role === 'script');
  if (used.some(({ role, value }) => role === 'script' && isInput(value)))
    found.push(unlistedPart('commands from standard input'));
  if (hasFile) return found;
  const readsInput = flags === shells && used.some(({ name }) => name === 's');
  if (word === undefined || isInput(word) || readsInput)
    return [...found, unlistedPart('commands from standard input')];
  if (flags.readsCode) return [...found, ...languagePrograms(word, place)];
  const isText = flags === shells && used.some(({ name }) => name === 'c');
  const main = isText ? textPrograms(word, place) : scripts([word]);
  return [...found, ...main, ...argumentPrograms(more, place)];
};
const behindWrapper = (flags: Wrapper, reading: Reading): RunnableWord[] => {
  const isKnown = readFront(flags, reading);
  const { rest, found, place } = reading;
  if (!isKnown)
    return [...found, ...guesses(reading), ...argumentPrograms(rest, place), unlistedPart(rest.join(' '))];
  if (!runsShell(flags, reading)) return [...found, ...runnableWords(rest, place)];
  // The shell runs the text of `su -c`, and reads no commands.
  if (rest.length === 0 && textIn(reading) !== undefined) return found;
  return [...found, ...behindInterpreter(shells, readingOf(rest, place, shells))];
};
/**
 * The words of a command line that name files to run: its program, the script of an interpreter, and the
 * command behind a wrapper. Pure.
 */
export const runnableWords = (words: readonly string[], place: Place = {}): RunnableWord[] => {
  const [word, ...rest] = words;
  if (word === undefined) return [];
  const name = nameOf(word);
  const wrapper = Object.hasOwn(wrappers, name) ? wrappers[name] : undefined;
  const flags = interpreterOf(name);
  return [
    { ...place, word, kind: 'program' },
    ...(wrapper === undefined ? [] : behindWrapper(wrapper, readingOf(rest, place, wrapper))),
    ...(flags === undefined ? [] : behindInterpreter(flags, readingOf(rest, place, flags))),
    ...(wrapper === undefined && flags === undefined ? argumentsOf(word, rest, place) : []),
    ...(readers.test(name) ? [unlistedPart(words.join(' '))] : []),
  ];
};
/** The parts of a command line that may start programs that opsctl cannot list. Pure. */
export const unlistedParts = (words: readonly string[]): string[] => [
  ...new Set(runnableWords(words).flatMap(({ kind, word }) => (kind === 'unlisted' ? [word] : []))),
];

/** The command behind a wrapper or a shell, and the variables that the wrapper sets. */
export type InnerCommand = {
  readonly words: readonly string[];
  /** The text that a shell runs. `words` are its arguments then. */
  readonly text?: string;
  /** The script that a shell reads. */
  readonly script?: string;
  /** Assignments `NAME=VALUE`, in order. */
  readonly assigned: readonly string[];
  /** Names of variables that it removes, or all of them. */
  readonly removed: readonly string[] | 'all';
  /** The command sees another file system. */
  readonly isInRoot: boolean;
};
const valuesOf = ({ used }: Reading, ...names: readonly string[]): string[] =>
  used.filter(({ name }) => names.includes(name)).map(({ value }) => value ?? '');
/** Flags with which these programs pass no variables on, or with which they pass them on. */
const clearing: Readonly<Record<string, { readonly by?: string; readonly unless?: string }>> = {
  env: { by: 'i ignore-environment' },
  su: { by: 'l login' },
  runuser: { by: 'l login' },
  setpriv: { by: 'reset-env' },
  sudo: { unless: 'E preserve-env' },
  'systemd-run': { unless: 'scope' },
};
const isClearing = ({ used }: Reading, program: string, words: readonly string[]): boolean => {
  const rule = Object.hasOwn(clearing, program) ? clearing[program] : undefined;
  const isUsed = (names: string | undefined): boolean => used.some(({ name }) => has(names, name));
  if (rule === undefined) return false;
  // `su - USER` is `su --login USER`.
  return rule.by === undefined
    ? !isUsed(rule.unless)
    : isUsed(rule.by) || (/^(su|runuser)$/.test(program) && words.includes('-'));
};
const textIn = ({ used }: Reading): string | undefined => used.find(({ role }) => role === 'text')?.value;
const innerShell = (reading: Reading): Pick<InnerCommand, 'words' | 'text' | 'script'> => {
  const [first = '', ...words] = reading.rest;
  return reading.used.some(({ name }) => name === 'c') ? { words, text: first } : { words, script: first };
};
const innerWords = (flags: Wrapper, reading: Reading): Pick<InnerCommand, 'words' | 'text' | 'script'> => {
  const text = textIn(reading);
  if (text !== undefined) return { words: [], text };
  if (flags === shells) return innerShell(reading);
  if (!runsShell(flags, reading)) return { words: reading.rest };
  const shell = readingOf(reading.rest, {}, shells);
  readFront(shells, shell);
  return innerShell(shell);
};
/**
 * Returns the command that a wrapper or a shell starts. Undefined if the program is not a wrapper, or if it has a flag that no
 * table describes. Pure.
 */
export const innerCommand = (command: readonly string[]): InnerCommand | undefined => {
  const [word = '', ...rest] = command;
  const name = nameOf(word);
  const isShell = interpreterOf(name) === shells;
  const flags = isShell ? shells : Object.hasOwn(wrappers, name) ? wrappers[name] : undefined;
  if (flags === undefined) return undefined;
  const reading = readingOf(rest, {}, flags);
  if (!readFront(flags, reading)) return undefined;
  const isSetting = name === 'systemd-run';
  return {
    ...innerWords(flags, reading),
    assigned: [...reading.assigned, ...(isSetting ? valuesOf(reading, 'E', 'setenv') : [])],
    removed: isClearing(reading, name, rest) ? 'all' : name === 'env' ? valuesOf(reading, 'u', 'unset') : [],
    isInRoot: flags.entersRoot === true || reading.used.some(({ role }) => role === 'root'),
  };
};

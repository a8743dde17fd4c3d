import {
  FIRST_WITHOUT_OLD,
  gatedIn36,
  variableOf,
  renamedSettings,
  settingNames,
} from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, compareVersions, proxyFlags } from '../../../api-specs/etcd/versions.ts';
import { type Origin, type ServerStart, escapeText, flagsOf } from './configuration.ts';
import { parseWords, isTrue } from './values.ts';
import { type Migrated, hasPrefix } from './migrate.ts';

/** The change of a flag or variable: a new name, a new value, an additional setting, or removal. */
type Edit =
  | {
      readonly kind: 'rename';
      readonly to: string;
      readonly value?: string;
      readonly add?: readonly [string, string];
    }
  | { readonly kind: 'remove'; readonly why: string };
type Rule = {
  readonly name: string;
  readonly since: Minor;
  /** Only after every member runs the new version. */
  readonly isLater?: true;
  readonly edit: (value: string) => Edit | undefined;
};
const rename = (to: string, add?: readonly [string, string]) => (): Edit => ({
  kind: 'rename',
  to,
  ...(add === undefined ? {} : { add }),
});
const remove = (why: string) => (): Edit => ({ kind: 'remove', why });
const rules: readonly Rule[] = [
  {
    name: 'debug',
    since: '3.5',
    edit: (value) =>
      isTrue(value)
        ? { kind: 'rename', to: 'log-level', value: 'debug' }
        : { kind: 'remove', why: 'info is the default level' },
  },
  { name: 'log-package-levels', since: '3.5', edit: remove('3.5 has one level for all packages: log-level') },
  {
    name: 'logger',
    since: '3.5',
    edit: (value) => (value === 'capnslog' ? { kind: 'rename', to: 'logger', value: 'zap' } : undefined),
  },
  ...['enable-v2', 'experimental-enable-v2v3'].map(
    (name): Rule => ({ name, since: '3.6', edit: remove('3.6 has no v2 interface') }),
  ),
  ...proxyFlags.map(
    (name): Rule => ({ name, since: '3.6', edit: remove('the grpc-proxy is a separate program') }),
  ),
  ...renamedSettings
    .filter(({ old, gate }) => gate === undefined && settingNames('flag').includes(old))
    .map(({ old, now, includes, ...row }): Rule => {
      const edit = rename(now, includes === undefined ? undefined : [includes, 'true']);
      return { name: old, since: row.since, ...(row.isLater === true ? { isLater: true } : {}), edit };
    }),
];
/**
 * Replaces switches by feature gates. The gates are one setting, so the first line contains all of them and
 * the other lines are removed.
 */
const gateEdits = (
  get: (name: string) => string | undefined,
): { name: string; value: string; edit: Edit }[] => {
  const given = gatedIn36.flatMap(({ old, gate }) => {
    const value = get(old);
    return value === undefined ? [] : [{ name: old, value, text: `${gate}=${value}` }];
  });
  const now = get('feature-gates');
  const text = [...(now === undefined ? [] : [now]), ...given.map((one) => one.text)].join(',');
  const edits = given.map(({ name, value }, i) => ({
    name,
    value,
    edit: (i === 0 && now === undefined
      ? { kind: 'rename', to: 'feature-gates', value: text }
      : { kind: 'remove', why: 'it is one of the feature gates now' }) as Edit,
  }));
  return now === undefined || given.length === 0
    ? edits
    : [
        { name: 'feature-gates', value: now, edit: { kind: 'rename', to: 'feature-gates', value: text } },
        ...edits,
      ];
};
type Place = {
  readonly display: (name: string) => string;
  readonly pattern: (name: string, value: string) => RegExp;
};
const valuePattern = (value: string): string => `(["']?)${escapeText(value)}\\1`;
const asFlag: Place = {
  display: (name) => `--${name}`,
  pattern: (name, value) =>
    new RegExp(`(?<![\\w-])--?${escapeText(name)}(?:(?:=|\\s+)${valuePattern(value)}|(?=["'\\s\\\\]|$))`),
};
const asVariable: Place = {
  display: variableOf,
  pattern: (name, value) =>
    new RegExp(`(?<!\\w)${variableOf(name)}(\\s*[=:]\\s*)${valuePattern(value).replace('\\1', '\\2')}`),
};
type Span = { readonly start: number; readonly end: number };
/** A flag of a wrapper whose value is the variable behind it, in the same word or in the word in front. */
const joinedFlag = /(?<=^|[\s"'[,])--(?:env|setenv)=$/;
const flagInFront = /(?<=^|[\s[,])(["']?)(-e|-E|--env|--setenv)\1(?:\s*,\s*|\s+)$/;
const quotesAround = (line: string, { start, end }: Span): number =>
  /^(["'])\1$/.test(`${line[start - 1] ?? ''}${line[end] ?? ''}`) &&
  /^[\s[({,=;&|]?$/.test(line[start - 2] ?? '') &&
  /^[\s\])},;&|]?$/.test(line[end + 1] ?? '')
    ? 1
    : 0;
/**
 * Returns the words of a setting, with their quotes and the flag of a wrapper that belongs to a variable. Undefined: `-E` may be
 * the switch of `sudo`, which has no value.
 */
const findSpan = (line: string, found: string, isFlag: boolean): Span | undefined => {
  let start = line.indexOf(found);
  let end = start + found.length;
  const withJoined = (): void => {
    start -= isFlag ? 0 : (joinedFlag.exec(line.slice(0, start))?.[0].length ?? 0);
  };
  withJoined();
  const quotes = quotesAround(line, { start, end });
  [start, end] = [start - quotes, end + quotes];
  withJoined();
  const inFront = isFlag ? null : flagInFront.exec(line.slice(0, start));
  if (inFront?.[2] === '-E' && !line.slice(0, start).includes('systemd-run')) return undefined;
  return { start: start - (inFront?.[0].length ?? 0), end };
};
const isEmptyLine = (line: string): boolean => line.replace(/[-\s"'\\,]|export|Environment=/g, '') === '';
const hasOpenQuote = (line: string): boolean =>
  line.split('"').length % 2 === 0 || line.split("'").length % 2 === 0;
/**
 * Removes a command that only sets the variable, with the operator behind it. Undefined: another command depends on it, or it is
 * the only command of a block. `line`: the line has no such command.
 */
const withoutCommand = (before: string, after: string): string | 'line' | undefined => {
  const [, operator] = /^\s*(;(?!;)|&&|$|["'](?=[\s,;)\]]|$)|[|&)}]|;;)/.exec(after) ?? [];
  const [, front, isExport] =
    /(^\s*(?:-\s+)?|["';]\s*|(?:[&|({]|\b(?:then|do|else))\s*)((?:export|declare\s+-x)\s+)?$/.exec(before) ??
    [];
  const isAlone = front !== undefined || /\bexport\s+$/.test(before);
  if (operator === undefined || !isAlone) return 'line';
  if (front === undefined || !/^\s*(-\s+)?$|^["';]/.test(front) || /^([|&)}]|;;)$/.test(operator))
    return undefined;
  const kept = before.slice(0, before.length - (isExport?.length ?? 0));
  return kept + (/^(;|&&)$/.test(operator) ? after.replace(/^\s*(;|&&)\s*/, '') : after);
};
/** Removes a part of a line with the comma or the space next to it. */
const withoutWords = (before: string, after: string): string => {
  if (/[[{,]\s*$/.test(before) && /^\s*[,\]}]/.test(after))
    return /^\s*,/.test(after)
      ? before + after.replace(/^\s*,\s*/, '')
      : before.replace(/,\s*$/, '') + after.trimStart();
  if (/(^|[\s=("'])$/.test(before) && /^\s+\S/.test(after)) return before + after.trimStart();
  return /^\s*(["'\])]|$)/.test(after) ? before.replace(/(?<=\S)\s+$/, '') + after : before + after;
};
/**
 * Removes a setting from a line. Removes the whole line if it is a YAML list item, a continued line, or an
 * assignment with only this setting. Undefined if opsctl does not rewrite this form.
 */
const withoutSetting = (line: string, found: string, isFlag: boolean): readonly string[] | undefined => {
  const span = findSpan(line, found, isFlag);
  if (span === undefined) return undefined;
  const [before, after] = [line.slice(0, span.start), line.slice(span.end)];
  const isStart = /\S/.test(before) && after.trim() === '\\';
  if (isEmptyLine(before + after) && !hasOpenQuote(before + after) && !(isStart && /\w/.test(before)))
    return [];
  const command = isFlag ? 'line' : withoutCommand(before, after);
  if (command === undefined) return undefined;
  const left = command === 'line' ? withoutWords(before, after) : command;
  return isEmptyLine(left) && !hasOpenQuote(left) && !/\w/.test(left) ? [] : [left];
};
const addedTo = (
  line: string,
  found: string,
  texts: readonly [string, string],
  isFlag: boolean,
): string[] | undefined => {
  const span = findSpan(line, found, isFlag);
  if (span === undefined) return undefined;
  const [before, words, after] = [
    line.slice(0, span.start),
    line.slice(span.start, span.end),
    line.slice(span.end),
  ];
  const [first, second] = texts.map((text) => words.replace(found, () => text)) as [string, string];
  const isAlone =
    (/^\s*-\s/.test(line) || /^\s*(export\s+)?ETCD_/.test(line)) &&
    isEmptyLine(before + after.replace(/\s#.*$/, ''));
  if (isAlone) return [before + first + after, before + second + after.replace(/\s+#.*$/, '')];
  const isList = /(^|[[{,])\s*$/.test(before) && /^\s*[,\]}]/.test(after);
  return [`${before}${first}${isList ? ', ' : ' '}${second}${after}`];
};
type Change = { readonly lines: readonly string[]; readonly note: string };
const rewrite = (
  { place, name, value }: Wanted,
  found: string,
  to: string,
  now: string | undefined,
): string => {
  const isFlag = place === asFlag;
  const named = found.replace(isFlag ? `-${name}` : variableOf(name), isFlag ? `-${to}` : variableOf(to));
  if (now === undefined) return named;
  const at = named.lastIndexOf(value);
  return /[=:\s]\S/.test(named)
    ? named.slice(0, at) + now + named.slice(at + value.length)
    : `${named}=${now}`;
};
const changeLine = (line: string, wanted: Wanted): Change | undefined => {
  const { place, name, value, edit, has } = wanted;
  const found = place.pattern(name, value).exec(line)?.[0];
  if (found === undefined) return undefined;
  const isFlag = place === asFlag;
  if (edit.kind === 'remove') {
    const left = withoutSetting(line, found, isFlag);
    return left && { lines: left, note: `${place.display(name)} removed: ${edit.why}` };
  }
  const text = rewrite(wanted, found, edit.to, edit.value);
  const shown = edit.value === undefined ? place.display(edit.to) : `${place.display(edit.to)}=${edit.value}`;
  const note = `${place.display(name)} → ${shown}`;
  if (edit.add === undefined || has(edit.add[0])) return { lines: [line.replace(found, () => text)], note };
  const added = rewrite(wanted, found, edit.add[0], edit.add[1]);
  const lines = addedTo(line, found, [text, added], isFlag);
  return lines && { lines, note: `${note}, with ${place.display(edit.add[0])}=${edit.add[1]}` };
};
/** Maximum number of lines after the first line of a setting that may belong to its command. */
const MAX_LINES = 200;
type Wanted = {
  readonly place: Place;
  readonly name: string;
  readonly value: string;
  readonly edit: Edit;
  readonly origin: Origin | undefined;
  readonly has: (name: string) => boolean;
};
const noOther = (): boolean => false;
/** Edits of one server, in the order in which they apply. */
const listEdits = ({ words, env, origins }: ServerStart, to: Minor, when: 'roll' | 'after'): Wanted[] => {
  // The version before this one reads the new names too.
  const isSafe = when === 'after' || compareVersions(to, FIRST_WITHOUT_OLD) >= 0;
  const flags = flagsOf(words);
  const has = (name: string): boolean => flags.has(name) || env[variableOf(name)] !== undefined;
  const places = [
    { place: asFlag, get: (name: string) => flags.get(name) },
    { place: asVariable, get: (name: string) => env[variableOf(name)] },
  ];
  const active = rules.filter(
    ({ since, isLater }) => compareVersions(to, since) >= 0 && (isLater !== true || isSafe),
  );
  return places.flatMap(({ place, get }) => {
    const originOf = (name: string): Origin | undefined => origins.get(place.display(name));
    const renamed = active.flatMap(({ name, edit: editOf }): Wanted[] => {
      const value = get(name);
      const edit = value === undefined ? undefined : editOf(value);
      return value === undefined || edit === undefined
        ? []
        : [{ place, name, value, edit, origin: originOf(name), has }];
    });
    const gates = compareVersions(to, '3.6') < 0 || !isSafe ? [] : gateEdits(get);
    return [
      ...renamed,
      ...gates.map((one): Wanted => ({ place, ...one, origin: originOf(one.name), has: noOther })),
    ];
  });
};
/** The settings of a server, as far as a change of one setting must keep them. */
type Facts = {
  readonly flags: Record<string, string>;
  readonly env: Record<string, string>;
  readonly others: readonly unknown[];
};
const factsOf = ({ name, words, env, file, unread, unreadFile }: ServerStart): Facts => {
  const { flags, strays, earlier, missing } = parseWords(words);
  const program = words[0]?.startsWith('-') === true ? undefined : words[0];
  return {
    flags: Object.fromEntries(flags),
    env: hasPrefix(env),
    others: [name, program, strays, earlier, file, unread, unreadFile, missing],
  };
};
const keyOf = (place: Place, name: string): string => (place === asFlag ? name : variableOf(name));
/** Returns the settings after an edit. The settings stay the same if the server does not have this one. */
const editFacts = (facts: Facts, { place, name, value, edit, has }: Wanted): Facts => {
  const part = place === asFlag ? 'flags' : 'env';
  const own = { ...facts[part] };
  if (own[keyOf(place, name)] !== value) return facts;
  delete own[keyOf(place, name)];
  if (edit.kind === 'rename') {
    own[keyOf(place, edit.to)] = edit.value ?? value;
    if (edit.add !== undefined && !has(edit.add[0])) own[keyOf(place, edit.add[0])] = edit.add[1];
  }
  return { ...facts, [part]: own };
};
/** The form in which settings are compared. A variable from which the command line gets the flag changes with the flag. */
const factsText = ({ flags, env, others }: Facts, ignored: readonly string[]): string =>
  JSON.stringify([
    Object.entries(flags).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    Object.entries(env)
      .filter(([name]) => !ignored.includes(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    others,
  ]);
/** A server without any setting. Its file no longer belongs to a server. */
const isBare = ({ flags, env, others: [, , strays, , file, unread] }: Facts): boolean =>
  Object.keys(flags).length +
    Object.keys(env).length +
    (strays as string[]).length +
    (unread as string[]).length ===
    0 && file === undefined;
/**
 * Compares the servers of a changed text with the servers before. Returns them if one server has exactly the wanted change, and
 * every other server has the same change or none.
 */
const matchStarts = (
  before: readonly ServerStart[],
  after: readonly ServerStart[],
  target: number,
  wanted: Wanted,
): ServerStart[] | undefined => {
  const found: ServerStart[] = [];
  let next = 0;
  for (const [i, start] of before.entries()) {
    const facts = factsOf(start);
    const edited = editFacts(facts, wanted);
    const ignored = Object.keys(facts.env).filter(
      (name) => wanted.place === asFlag && facts.env[name]?.includes(`-${wanted.name}`),
    );
    const allowed = (i === target ? [edited] : [edited, facts]).map((one) => factsText(one, ignored));
    const now = after[next];
    if (now !== undefined && allowed.includes(factsText(factsOf(now), ignored))) {
      found.push(now);
      next += 1;
    } else if (isBare(edited)) found.push({ ...start, words: start.words.slice(0, 1), env: {} });
    else return undefined;
  }
  return next === after.length ? found : undefined;
};
/** The servers in a changed text. Empty if no program can read it. */
type ReadAgain = (text: string) => Promise<readonly ServerStart[]>;
type Lines = readonly (readonly string[])[];
/** Replaces a line. The line in front of a removed line does not continue on the line behind it. */
const replaceLine = (lines: Lines, at: number, now: readonly string[]): Lines | undefined => {
  const changed = lines.with(at, now);
  const [line, front] = [lines[at]?.[0] ?? '', changed.findLastIndex((one, i) => i < at && one.length > 0)];
  const before = changed[front]?.at(-1) ?? '';
  const behind = changed.slice(at + 1).find((one) => one.length > 0)?.[0] ?? '';
  if (now.length > 0) return changed;
  // A shell rejects a block without commands.
  if (/(^|[\s;])(then|do|else|\{|\()\s*$/.test(before) && /^\s*(fi|done|else|elif|[})])/.test(behind))
    return undefined;
  const isLast = before.trimEnd().endsWith(',') && !/,\s*$/.test(line) && /^\s*[\]}]/.test(behind);
  const isOpen = before.endsWith('\\') && !line.trimEnd().endsWith('\\');
  const closed = isLast || isOpen ? before.replace(/\s*[\\,]\s*$/, '') : before;
  return closed === before ? changed : changed.with(front, [...(changed[front] ?? []).slice(0, -1), closed]);
};
type Text = { readonly lines: Lines; readonly starts: readonly ServerStart[] };
/** Applies an edit to the first line with the setting from which the servers read exactly this change. */
const applyEdit = async (
  { lines, starts }: Text,
  { wanted, target }: { readonly wanted: Wanted; readonly target: number },
  readAgain: ReadAgain,
): Promise<(Text & { readonly note: string }) | undefined> => {
  const first = (wanted.origin?.line ?? 1) - 1;
  for (const [i, [line, ...more]] of lines.slice(first, first + MAX_LINES).entries()) {
    const change = line === undefined || more.length > 0 ? undefined : changeLine(line, wanted);
    const changed = change && replaceLine(lines, first + i, change.lines);
    const after = changed && matchStarts(starts, await readAgain(changed.flat().join('\n')), target, wanted);
    if (after !== undefined)
      return { lines: changed as Lines, starts: after, note: `line ${first + i + 1}: ${change?.note}` };
  }
  return undefined;
};
/**
 * Returns the text of a unit, an environment file, a manifest or a command for version `to`. Settings in
 * other files are listed, not changed. A change after which the servers would read other settings is listed too.
 */
export const migrateSource = async (
  text: string,
  path: string,
  starts: readonly ServerStart[],
  {
    to,
    when,
    readAgain,
  }: { readonly to: Minor; readonly when: 'roll' | 'after'; readonly readAgain: ReadAgain },
): Promise<Migrated & { readonly elsewhere: readonly string[] }> => {
  let now: Text = { lines: text.split('\n').map((line) => [line]), starts };
  const [changes, elsewhere]: [string[], string[]] = [[], []];
  const edits = starts.flatMap((start, target) =>
    listEdits(start, to, when).map((wanted) => ({ wanted, target })),
  );
  for (const edit of edits) {
    const { origin, place, name } = edit.wanted;
    const current = factsOf(now.starts[edit.target] as ServerStart);
    // Servers may share a line, and the edit of the first one changed it.
    if (editFacts(current, edit.wanted) === current) continue;
    const isHere = origin === undefined || origin.path === path;
    const change = isHere ? await applyEdit(now, edit, readAgain) : undefined;
    if (change === undefined) {
      const why = isHere ? 'has a form that opsctl does not rewrite' : 'is set in another file';
      elsewhere.push(`${origin?.path ?? path}:${origin?.line ?? 1}: ${place.display(name)} ${why}`);
    } else {
      now = change;
      changes.push(change.note);
    }
  }
  return { text: now.lines.flat().join('\n'), changes, elsewhere };
};

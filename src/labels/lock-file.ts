import { dirname, join, resolve } from 'node:path';
import type { EngineContext, Runtime } from '../api/context.ts';
import { decodeUtf8 } from '../core/text.ts';
import { shownTexts } from '../core/yaml-scalars.ts';
import { AppError, problem } from '../core/problem.ts';
import { recordResult, type Result } from '../core/result.ts';
import { misfit, type Shape } from '../core/shape.ts';
import {
  faultPhrase,
  isPlainKey,
  plainYaml,
  tooLargeYaml,
  yamlValue,
  causeWithoutPlace,
} from '../core/yaml.ts';
import { type Holder, type LockSnapshot, thisProcess, tryLock, unlock } from '../platform/file-lock.ts';
import type { Host } from '../platform/host.ts';
import { describeProcess, waysPast } from '../platform/process-identity.ts';
import type { LockJson } from './api-types.ts';
import type { LiveLabel } from './definition.ts';
import { liveFrom } from './from-label.ts';
import { listLocks, type ReadOptions, getLabel, withLabel } from './read-labels.ts';
import { isPlain } from './read-values.ts';
import { parseAllDocuments } from '../platform/yaml.ts';

/** Located next to the definition files, to be committed. */
export const LOCK_FILE = 'labels.lock.yaml';
type ChoiceRecord = { readonly name: string; readonly id: string };
export type FieldRecord = {
  readonly name: string;
  readonly id: string;
  readonly digest: string;
  /** Choices by key; those whose id is the same everywhere need no record. */
  readonly choices?: Readonly<Record<string, ChoiceRecord>>;
  /** `protect: true` of the definition: it still holds when the definition is removed. */
  readonly protect?: boolean;
};
/** The record of one deployment. */
export type DeploymentRecord = {
  readonly id: string;
  readonly title: string;
  readonly revision: string;
  readonly state: string;
  readonly copyMode: string;
  readonly enabledApps: readonly string[];
  /** Of everything that the revision holds. */
  readonly digest: string;
  /** Roles by principal, if the file defines the permissions. */
  readonly permissions?: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, FieldRecord>>;
  readonly protect?: boolean;
  /** The digest that an apply was about to bring about: still there after a crash. */
  readonly applying?: string;
};
export type LabelRecord = {
  /** The definition file, relative to the lock file. */
  readonly file?: string;
  readonly deployments: Readonly<Record<string, DeploymentRecord>>;
};
export type LockFile = { readonly labels: Readonly<Record<string, LabelRecord>> };
export const emptyLock: LockFile = { labels: {} };
const header = `# What opsctl has applied where: ids, revisions and digests. Commit this file; do not edit it.
# After a merge conflict run \`opsctl labels adopt\` again: both sides are merged record by record.
`;
/**
 * YAML does not read `null`, `1e3` and `0012` as text: keys that start with a digit, and YAML keywords, are
 * quoted.
 */
const keyText = (key: string): string => (isPlainKey(key) ? key : JSON.stringify(key));
const sortEntries = (value: object): [string, unknown][] =>
  Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
/** Members whose entries are a map: sorted, so that two branches add in different places. */
const maps = new Set(['labels', 'deployments', 'fields', 'choices', 'permissions']);
/** One member a line: two branches that change different labels, or different fields, merge without a conflict. */
const linesOf = (value: object, indent: string, isMap: boolean): string[] =>
  (isMap ? sortEntries(value) : Object.entries(value)).flatMap(([key, member]) => {
    if (member === undefined) return [];
    if (!isPlain(member)) return [`${indent}${keyText(key)}: ${JSON.stringify(member)}`];
    const inner = linesOf(member, `${indent}  `, !isMap && maps.has(key));
    return inner.length === 0 ? [`${indent}${keyText(key)}: {}`] : [`${indent}${keyText(key)}:`, ...inner];
  });
export const lockText = (lock: LockFile): string =>
  `${header}version: 1\n${linesOf(lock, '', false).join('\n')}\n`;
const makeBrokenLockError = (path: string, why: string, line = 1): AppError =>
  new AppError('usage', `${path} ${why}; no request was sent`, {
    code: 'BAD_LOCK_FILE',
    problems: [{ ...problem('', 'format', why), file: path, line }],
    tryThis: ['restore it from version control', `remove it and run opsctl labels adopt -f <directory>`],
  });
/** The two sides of a text with git conflict markers; one text if there are none. */
const sidesOf = (text: string): string[] => {
  if (!/^<{7}( |\r?$)/m.test(text)) return [text];
  const hunk = /^<{7}[^\n]*\n([\s\S]*?)(?:^\|{7}[^\n]*\n[\s\S]*?)?^={7}\r?\n([\s\S]*?)^>{7}[^\n]*(?:\n|$)/gm;
  return [text.replace(hunk, '$1'), text.replace(hunk, '$2')];
};
const anyYaml = (path: string, text: string): unknown => {
  const tooLarge = tooLargeYaml(text);
  if (tooLarge !== undefined) throw makeBrokenLockError(path, tooLarge);
  const [document, second] = parseAllDocuments(text);
  const [error] = document?.errors ?? [];
  if (error) {
    const line = error.linePos?.[0].line ?? 1;
    throw makeBrokenLockError(
      path,
      `${faultPhrase(error)} (line ${line}): ${causeWithoutPlace(error.message)}`,
      line,
    );
  }
  if (second !== undefined) throw makeBrokenLockError(path, 'contains several documents (---)');
  const [misread] = shownTexts(document?.contents);
  if (misread !== undefined)
    throw makeBrokenLockError(
      path,
      `has ${misread[1]} for ${misread[0]}, which YAML reads as another value; write "${misread[1]}"`,
    );
  const read = document === undefined ? { value: undefined } : yamlValue(document);
  if ('problem' in read) throw makeBrokenLockError(path, `is not YAML: ${read.problem}`);
  return read.value;
};
/** What the records of a lock file contain. A member that is missing or misspelled would be a member that is not in the file. */
const partShape = { name: 'text', id: 'text' } as const;
const fieldShape = { ...partShape, digest: 'text', choices: 'record?', protect: 'flag?' } as const;
const deploymentShape = {
  id: 'text',
  title: 'text',
  revision: 'text',
  state: 'text',
  copyMode: 'text',
  enabledApps: ['text'],
  digest: 'text',
  permissions: 'record?',
  fields: 'record',
  protect: 'flag?',
  applying: 'text?',
} as const;
const labelShape = { file: 'text?', deployments: 'record' } as const;
/** A part of the lock file that is not as `lockText` writes it: the keys that lead to it, and what is wrong. */
type Broken = { readonly keys: readonly string[]; readonly why: string };
const brokenShape = (
  value: unknown,
  shape: Readonly<Record<string, Shape>>,
  keys: readonly string[],
): Broken | undefined => {
  const why = misfit(value, shape);
  const unknown = isPlain(value) ? Object.keys(value).find((key) => !Object.hasOwn(shape, key)) : undefined;
  if (why !== undefined) return { keys, why };
  return unknown === undefined ? undefined : { keys: [...keys, unknown], why: `unknown key \`${unknown}\`` };
};
const firstBroken = (
  value: unknown,
  keys: readonly string[],
  find: (item: unknown, keys: readonly string[]) => Broken | undefined,
): Broken | undefined => {
  for (const [key, item] of Object.entries(isPlain(value) ? value : {})) {
    const found = find(item, [...keys, key]);
    if (found !== undefined) return found;
  }
  return undefined;
};
const brokenField = (field: unknown, keys: readonly string[]): Broken | undefined =>
  brokenShape(field, fieldShape, keys) ??
  firstBroken((field as FieldRecord).choices, [...keys, 'choices'], (choice, at) =>
    brokenShape(choice, partShape, at),
  );
const brokenDeployment = (record: unknown, keys: readonly string[]): Broken | undefined => {
  const broken = brokenShape(record, deploymentShape, keys);
  if (broken !== undefined) return broken;
  const { id, permissions, fields } = record as DeploymentRecord;
  if (!/^[^/\s]+$/.test(id))
    return { keys: [...keys, 'id'], why: `\`id\` must be an ID; got ${JSON.stringify(id)}` };
  return (
    firstBroken(permissions, [...keys, 'permissions'], (role, at) =>
      typeof role === 'string' ? undefined : { keys: at, why: 'a role must be text' },
    ) ?? firstBroken(fields, [...keys, 'fields'], brokenField)
  );
};
const brokenLabel = (label: unknown, keys: readonly string[]): Broken | undefined =>
  brokenShape(label, labelShape, keys) ??
  firstBroken((label as LabelRecord).deployments, [...keys, 'deployments'], brokenDeployment);
/** The line of the last of these keys that the text has in block style. */
const lineOf = (text: string, keys: readonly string[]): number => {
  const lines = text.split('\n');
  let found = 0;
  for (const [depth, key] of keys.entries()) {
    const starts = [key, JSON.stringify(key)].map((one) => `${'  '.repeat(depth)}${one}:`);
    const at = lines.findIndex((line, i) => i >= found && starts.some((start) => line.startsWith(start)));
    if (at === -1) break;
    found = at;
  }
  return found + 1;
};
const parseText = (path: string, text: string): LockFile => {
  const plain = plainYaml(text);
  const value = plain === undefined ? anyYaml(path, text) : plain.value;
  if (!isPlain(value) || value.version !== 1)
    throw makeBrokenLockError(path, 'is not a lock file of version 1');
  const broken =
    brokenShape(value, { version: 'number', labels: 'record' }, []) ??
    firstBroken(value.labels, ['labels'], brokenLabel);
  if (broken === undefined) return { labels: value.labels as LockFile['labels'] };
  const name = broken.keys.slice(1).join('.');
  const why = `is broken${name === '' ? '' : ` at ${name}`}: ${broken.why}`;
  throw makeBrokenLockError(path, why, lineOf(text, broken.keys));
};
/** The first member in which two records differ, with both values. Pure. */
type Difference = { readonly keys: readonly string[]; readonly values: readonly [unknown, unknown] };
const firstDifference = (a: unknown, b: unknown, keys: readonly string[]): Difference | undefined => {
  if (!isPlain(a) || !isPlain(b))
    return JSON.stringify(a) === JSON.stringify(b) ? undefined : { keys, values: [a, b] };
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(a[key], b[key], [...keys, key]);
    if (found !== undefined) return found;
  }
  return undefined;
};
type Sides = { readonly path: string; readonly text: string };
const valueText = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
/** Neither side is known to be newer, so a person has to choose. */
const makeConflictError = ({ path, text }: Sides, { keys, values: [ours, theirs] }: Difference): AppError => {
  const line = lineOf(text, keys);
  const why = `has a merge conflict that opsctl cannot resolve at ${keys.slice(1).join('.')} (line ${line}): one side has ${valueText(ours)}, the other has ${valueText(theirs)}`;
  return new AppError('usage', `${path} ${why}; no request was sent`, {
    code: 'BAD_LOCK_FILE',
    problems: [{ ...problem('', 'format', why), file: path, line }],
    tryThis: [
      'keep the lines of one side, delete the conflict markers, and run opsctl labels adopt -f <directory>',
    ],
  });
};
const isCount = (text: string): boolean => /^\d+$/.test(text);
/** The record of the newer revision. Two records of one revision must be equal, and other revisions cannot be compared. */
const newer = (
  sides: Sides,
  keys: readonly string[],
  a: DeploymentRecord | undefined,
  b: DeploymentRecord,
): DeploymentRecord => {
  if (a === undefined) return b;
  if (a.revision !== b.revision && isCount(a.revision) && isCount(b.revision))
    return BigInt(a.revision) > BigInt(b.revision) ? a : b;
  const difference = firstDifference(a, b, keys);
  if (difference !== undefined) throw makeConflictError(sides, difference);
  return a;
};
/** Both sides, record by record; of one deployment the record of the newer revision. Pure. */
const mergeLocks = (sides: Sides, ours: LockFile, theirs: LockFile): LockFile => {
  const labels: Record<string, LabelRecord> = { ...ours.labels };
  for (const [key, record] of Object.entries(theirs.labels)) {
    const known = labels[key];
    const at = ['labels', key];
    if (known?.file !== undefined && record.file !== undefined && known.file !== record.file)
      throw makeConflictError(sides, { keys: [...at, 'file'], values: [known.file, record.file] });
    const deployments: Record<string, DeploymentRecord> = { ...known?.deployments };
    for (const [deployment, one] of Object.entries(record.deployments))
      deployments[deployment] = newer(
        sides,
        [...at, 'deployments', deployment],
        deployments[deployment],
        one,
      );
    labels[key] = { ...known, ...record, deployments };
  }
  return { labels };
};
export const lockFrom = (path: string, text: string): LockFile =>
  sidesOf(text)
    .map((side) => parseText(path, side))
    .reduce((ours, theirs) => mergeLocks({ path, text }, ours, theirs));

/** The directory in which the definitions of `-f` lie; undefined for standard input. */
export const directoryOf = async ({ host }: Runtime, file: string): Promise<string | undefined> => {
  if (file === '-') return undefined;
  const path = resolve(host.cwd, file);
  return (await host.files.info(path))?.kind === 'directory' ? path : dirname(path);
};
export const readLock = async ({ host }: Runtime, directory: string): Promise<LockFile | undefined> => {
  const path = join(directory, LOCK_FILE);
  const bytes = await host.files.readBytes(path);
  return bytes === undefined ? undefined : lockFrom(path, decodeUtf8(bytes, path, 'usage'));
};
const pollMs = 50;
/** How long another command may hold the file: it only reads and writes it. */
const patienceMs = 30_000;
const lockFileHeld = (host: Host, path: string, seen: LockSnapshot<Holder>): AppError => {
  const held = seen.kind === 'held' ? seen : undefined;
  const who = held?.by === undefined ? 'another command' : describeProcess(host, held.by);
  return new AppError('unsafe', `${who} holds ${path}; the lock file was not written`, {
    code: 'LOCK_FILE_HELD',
    tryThis: waysPast(host, held?.by, held?.claim ?? path),
  });
};
const whileHeld = async <T>({ host, signal }: Runtime, path: string, use: () => Promise<T>): Promise<T> => {
  const mine = thisProcess(host);
  const since = host.elapsed();
  for (;;) {
    const seen = await tryLock(host, path, mine);
    if (seen === true) break;
    if (host.elapsed() - since > patienceMs) throw lockFileHeld(host, path, seen);
    await host.sleep(pollMs, signal);
  }
  try {
    return await use();
  } finally {
    await unlock(host, path, mine);
  }
};
/** Reads, changes and replaces the file as one operation: concurrent changes of another command are kept. */
export const changeLock = async (
  context: EngineContext,
  directory: string,
  change: (lock: LockFile) => LockFile,
): Promise<LockFile> =>
  whileHeld(context, join(directory, `.${LOCK_FILE}.held`), async () => {
    const before = (await readLock(context, directory)) ?? emptyLock;
    const after = change(before);
    const text = lockText(after);
    const path = join(directory, LOCK_FILE);
    if ((await context.host.files.read(path)) !== text) await context.host.files.replace(path, text);
    return after;
  });
type Node = {
  readonly what: string;
  readonly id: string;
  readonly lock: string | null;
  readonly held: boolean;
  readonly inside: readonly Node[];
};
/** The locks of one part. Several applications may lock the same part. */
const locksAt = (locks: readonly LockJson[], fieldId?: string, choiceId?: string): readonly LockJson[] =>
  locks.filter(
    (lock) => (lock.fieldId || undefined) === fieldId && (lock.choiceId || undefined) === choiceId,
  );
const text = (locks: readonly LockJson[]): string | null =>
  locks.length === 0
    ? null
    : locks.map((lock) => `${lock.name?.split('/').pop()} (${lock.state?.toLowerCase()})`).join(', ');
/** A label's parts, each with its own lock, and whether an enclosing part is locked (`held`). Pure. */
const lockTree = (label: LiveLabel, locks: readonly LockJson[]): Node => {
  const whole = locksAt(locks);
  const fields = label.fields.map((field): Node => {
    const own = locksAt(locks, field.id);
    const choices = field.choices.map(
      (choice): Node => ({
        what: `choice ${choice.name}`,
        id: choice.id,
        lock: text(locksAt(locks, field.id, choice.id)),
        held: whole.length > 0 || own.length > 0,
        inside: [],
      }),
    );
    return {
      what: `field ${field.name}`,
      id: field.id,
      lock: text(own),
      held: whole.length > 0,
      inside: choices,
    };
  });
  return { what: `label ${label.title}`, id: label.id, lock: text(whole), held: false, inside: fields };
};
const isOfInterest = (node: Node): boolean => node.lock !== null || node.inside.some(isOfInterest);
const mark = (node: Node): string =>
  node.lock !== null ? `  locked: ${node.lock}` : node.held ? '  held by the lock above' : '';
/** Lines of a tree. Choices are shown only if one of them is locked. Pure. */
const treeText = (node: Node, lead = '', branch = ''): string[] => {
  const shown = node.inside.filter(
    (inner) => inner.inside.length > 0 || node.what.startsWith('label') || isOfInterest(inner),
  );
  const below = lead + (branch === '' ? '' : branch.startsWith('└') ? '   ' : '│  ');
  return [
    `${lead}${branch}${node.what}${mark(node)}`,
    ...shown.flatMap((inner, i) => treeText(inner, below, i === shown.length - 1 ? '└─ ' : '├─ ')),
  ];
};
/** What of a label is locked, as a tree. */
export const showLocks = (context: EngineContext, typed: string, asking: ReadOptions): Promise<Result> =>
  withLabel(context, typed, asking, async (name) => {
    const label = liveFrom(await getLabel(context, name, asking));
    const tree = lockTree(label, await listLocks(context, `labels/${label.id}`));
    return recordResult(tree, { text: treeText(tree).join('\n') });
  });

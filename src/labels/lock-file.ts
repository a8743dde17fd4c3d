import { tooLargeYaml } from '../core/yaml-parse.ts';
import { yamlValue } from '../core/yaml-value.ts';
import { AppError, problem } from '../core/problem.ts';
import { isPlainKey, plainYaml } from '../core/yaml.ts';
import { isPlain } from './read-values.ts';
import { parseAllDocuments } from './yaml-package.ts';

/** Beside the definition files, made to be committed. */
export const LOCK_FILE = 'labels.lock.yaml';

export type ChoiceRecord = { readonly name: string; readonly id: string };
export type FieldRecord = {
  readonly name: string;
  readonly id: string;
  readonly digest: string;
  /** Choices by key; those whose id is the same everywhere need no record. */
  readonly choices?: Readonly<Record<string, ChoiceRecord>>;
};
/** What was applied to one deployment. */
export type DeploymentRecord = {
  readonly id: string;
  readonly title: string;
  readonly revision: string;
  readonly state: string;
  readonly copyMode: string;
  readonly enabledApps: readonly string[];
  /** Of everything that the revision holds. */
  readonly digest: string;
  /** Roles by principal, when the file says the permissions. */
  readonly permissions?: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, FieldRecord>>;
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

/** `null`, `1e3` and `0012` are no text to YAML: keys that begin with a digit, and its own words, are quoted. */
const keyText = (key: string): string => (isPlainKey(key) ? key : JSON.stringify(key));
const sorted = (value: object): [string, unknown][] =>
  Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
/** Members whose entries are a map: sorted, so that two branches add in different places. */
const maps = new Set(['labels', 'deployments', 'fields', 'choices', 'permissions']);

/** One member a line: two branches that change different labels, or different fields, merge without a conflict. */
const linesOf = (value: object, indent: string, isMap: boolean): string[] =>
  (isMap ? sorted(value) : Object.entries(value)).flatMap(([key, member]) => {
    if (member === undefined) return [];
    if (!isPlain(member)) return [`${indent}${keyText(key)}: ${JSON.stringify(member)}`];
    const inner = linesOf(member, `${indent}  `, !isMap && maps.has(key));
    return inner.length === 0 ? [`${indent}${keyText(key)}: {}`] : [`${indent}${keyText(key)}:`, ...inner];
  });

export const lockText = (lock: LockFile): string =>
  `${header}version: 1\n${linesOf(lock, '', false).join('\n')}\n`;

const broken = (path: string, why: string): AppError =>
  new AppError('usage', `${path} ${why}; nothing was sent`, {
    code: 'BAD_LOCK_FILE',
    problems: [problem(path, 'format', why)],
    tryThis: ['restore it from version control', `remove it and run opsctl labels adopt -f <directory>`],
  });

/** The two sides of a text in which git left conflict markers; one text when there are none. */
const sidesOf = (text: string): string[] => {
  if (!/^<{7}( |$)/m.test(text)) return [text];
  const hunk = /^<{7}.*\n([\s\S]*?)(?:^\|{7}.*\n[\s\S]*?)?^={7}\n([\s\S]*?)^>{7}.*(?:\n|$)/gm;
  return [text.replace(hunk, '$1'), text.replace(hunk, '$2')];
};

const anyYaml = (path: string, text: string): unknown => {
  const tooLarge = tooLargeYaml(text);
  if (tooLarge !== undefined) throw broken(path, tooLarge);
  const [document] = parseAllDocuments(text);
  const [error] = document?.errors ?? [];
  if (error) throw broken(path, `is not YAML (line ${error.linePos?.[0].line ?? 1})`);
  const read = document === undefined ? { value: undefined } : yamlValue(document);
  if ('problem' in read) throw broken(path, `is not YAML: ${read.problem}`);
  return read.value;
};

const parsed = (path: string, text: string): LockFile => {
  const plain = plainYaml(text);
  const value = plain === undefined ? anyYaml(path, text) : plain.value;
  if (!isPlain(value) || value.version !== 1) throw broken(path, 'is not a lock file of version 1');
  const labels = value.labels ?? {};
  if (!isPlain(labels)) throw broken(path, 'has no map of labels');
  for (const [key, record] of Object.entries(labels))
    if (!isPlain(record) || !isPlain(record.deployments)) throw broken(path, `has a broken record ${key}`);
  return { labels: labels as LockFile['labels'] };
};

const newer = (a: DeploymentRecord | undefined, b: DeploymentRecord): DeploymentRecord =>
  a !== undefined && Number(a.revision) > Number(b.revision) ? a : b;

/** Both sides, record by record; of one deployment the record of the newer revision. Pure. */
const mergeLocks = (ours: LockFile, theirs: LockFile): LockFile => {
  const labels: Record<string, LabelRecord> = { ...ours.labels };
  for (const [key, record] of Object.entries(theirs.labels)) {
    const known = labels[key];
    const deployments: Record<string, DeploymentRecord> = { ...known?.deployments };
    for (const [deployment, one] of Object.entries(record.deployments))
      deployments[deployment] = newer(deployments[deployment], one);
    labels[key] = { ...known, ...record, deployments };
  }
  return { labels };
};

export const lockFrom = (path: string, text: string): LockFile =>
  sidesOf(text)
    .map((side) => parsed(path, side))
    .reduce(mergeLocks);

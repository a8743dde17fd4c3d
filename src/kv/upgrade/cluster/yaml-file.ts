import type * as Yaml from '../../../platform/yaml.ts';
import { faultPhrase, findPair, tooLargeYaml, yamlValue, stepsOfPath } from '../../../core/yaml.ts';
import { inWordsOfFile, shownTexts } from '../../../core/yaml-scalars.ts';
import { AppError, type Problem, problemText, problem } from '../../../core/problem.ts';
import { next } from '../../../core/next.ts';
import { resolve } from 'node:path';
import type { Host } from '../../../platform/host.ts';
import { checkFields } from '../../../core/check.ts';
import { bool, type Fields, help, list, obj, oneOf, req, str, url } from '../../../core/field.ts';
import {
  compareVersions,
  minorOf,
  ruleConditions,
  type VersionRule,
  versionTable,
  type VersionTable,
} from '../../../api-specs/etcd/versions.ts';
import { limits } from '../../../core/limits.ts';

type Pair = {
  readonly key: { readonly range?: readonly number[] | null; readonly value?: unknown };
  readonly value: unknown;
};
type Node = { readonly range?: readonly number[] | null; readonly items?: readonly unknown[] } | null;

/**
 * Offset of a value in the text, or of the longest part of its path that exists. For a missing key, the
 * offset of its mapping.
 */
const offsetOf = (root: Node, path: string): number => {
  let [node, offset] = [root, 0];
  for (const step of stepsOfPath(path)) {
    const items = node?.items ?? [];
    const pair = typeof step === 'number' ? undefined : findPair(items as readonly Pair[], step);
    node = (typeof step === 'number' ? items[step] : pair?.value) as Node;
    const found = typeof step === 'number' ? node?.range?.[0] : pair?.key.range?.[0];
    if (found === undefined) break;
    offset = found;
  }
  return offset;
};

export type YamlFile = {
  /** The path as the user typed it. */
  readonly what: string;
  readonly code: string;
  /** Returns every problem in the content. */
  readonly problems: (content: unknown) => readonly Problem[];
  /**
   * Top-level keys that use the text in the file instead of the YAML number: in YAML, `to: 3.10` equals 3.1.
   */
  readonly asTyped?: readonly string[];
  readonly tryThis?: readonly string[];
};

/** Removes keys that start with x-: they contain blocks with anchors. */
const withoutExtensions = (content: unknown): unknown =>
  typeof content !== 'object' || content === null || Array.isArray(content)
    ? content
    : Object.fromEntries(Object.entries(content).filter(([key]) => !key.startsWith('x-')));

/** Reads a file that an operator wrote. An error lists all problems of the file with their lines. */
export const contentOf = async (
  text: string,
  { what, code, problems, asTyped = [], tryThis }: YamlFile,
): Promise<unknown> => {
  const { LineCounter, isMap, isScalar, parseDocument } = await import('../../../platform/yaml.ts');
  const tooLarge = tooLargeYaml(text);
  if (tooLarge !== undefined) throw new AppError('config', `${what} ${tooLarge}`, { code, tryThis });
  const lines = new LineCounter();
  const document = parseDocument(text, lines);
  const broken = document.errors[0];
  if (broken !== undefined)
    throw new AppError('config', `${what} ${faultPhrase(broken)}: ${broken.message.trimEnd()}`, {
      code,
      tryThis,
    });
  for (const key of asTyped) {
    const found = isMap(document.contents) ? document.get(key, true) : undefined;
    if (isScalar(found) && typeof found.value === 'number') found.value = found.source;
  }
  const parsed = yamlValue(document);
  if ('problem' in parsed)
    throw new AppError('config', `${what} is not YAML: ${parsed.problem}`, { code, tryThis });
  const content = withoutExtensions(parsed.value);
  const found = inWordsOfFile(problems(content), shownTexts(document.contents))
    .map(
      (one): Problem =>
        one.path === ''
          ? one
          : { ...one, line: lines.linePos(offsetOf(document.contents as Node, one.path)).line },
    )
    .toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (found.length > 0)
    throw new AppError('config', `${what}: ${problemText(found[0] as Problem)}`, {
      code,
      problems: found,
      tryThis,
    });
  return content;
};

const advancedPairs = [
  ['old_binary', 'new_binary'],
  ['old_command', 'new_command'],
  ['old_image', 'new_image'],
] as const;
const advancedHooks = [
  ['start_old', 'start_new'],
  ['old_version', 'new_version'],
] as const;
type Row = { readonly binary?: unknown; readonly command?: unknown; readonly image?: unknown };
type TableFile = {
  readonly versions?: Readonly<Record<string, Row>>;
  readonly members?: readonly ({
    readonly name?: string;
    readonly versions?: Readonly<Record<string, Row>>;
  } & Readonly<Record<string, unknown>>)[];
};
/** The programs of the running version from the table of versions, if each member has a row. */
const tableRows = (
  { versions, members = [] }: TableFile,
  minor: string | undefined,
): readonly Row[] | undefined => {
  if (minor === undefined) return undefined;
  const rows = members.flatMap((member) => {
    const [ofAll, own] = [versions?.[minor], member.versions?.[minor]];
    if (ofAll === undefined && own === undefined) return [];
    const row = { ...ofAll, ...own };
    const line = member['new_command'] ?? member['old_command'];
    // A list with another program: its flags stay.
    const isList = Array.isArray(line) && !String(line[0]).startsWith('-');
    const command =
      row.command ?? (isList && row.binary !== undefined ? [row.binary, ...line.slice(1)] : undefined);
    return [{ ...row, command }];
  });
  return rows.length === members.length && rows.length > 0 ? rows : undefined;
};
type Change = (node: unknown, where: string) => readonly string[];
/** Copies the new programs to the old ones. */
const advanceBy = (
  { isMap, isNode }: Pick<typeof Yaml, 'isMap' | 'isNode'>,
  pairs: readonly (readonly [string, string])[],
): Change => {
  return (node, where) => {
    if (!isMap(node)) return [];
    return pairs.flatMap(([old, fresh]) => {
      const [was, is] = [old, fresh].map((key) => JSON.stringify(node.get(key)));
      const value = node.get(fresh, true);
      if (value === undefined || was === is || !isNode(value)) return [];
      node.set(old, value.clone());
      return [`${where}${old}: ${is}`];
    });
  };
};
/** Writes the row of the running version as the old and the new programs. */
const useRow = ({ isMap }: Pick<typeof Yaml, 'isMap'>, row: Row): Change => {
  const keys = ['binary', 'command', 'image'] as const;
  const values = ['old', 'new'].flatMap((which) => keys.map((key) => [`${which}_${key}`, row[key]] as const));
  return (node, where) => {
    if (!isMap(node)) return [];
    return values.flatMap(([key, value]) => {
      if (value === undefined || JSON.stringify(node.get(key)) === JSON.stringify(value)) return [];
      node.set(key, value);
      return [`${where}${key}: ${JSON.stringify(value)}`];
    });
  };
};
/**
 * Returns the text after an upgrade: the new programs become the current programs. Comments and the order of
 * keys stay. `ctl`: the ctl program of the running version.
 */
export const advanceText = async (
  text: string,
  minor?: string,
  ctl?: string,
): Promise<{ readonly text: string; readonly changes: readonly string[] }> => {
  const yaml = await import('../../../platform/yaml.ts');
  const { isMap, isSeq, parseDocument } = yaml;
  const document = parseDocument(text);
  const members = document.get('members');
  const items = isSeq(members) ? members.items : [];
  // The table names the programs of the running version, and kv upgrade uses its rows again.
  const rows = tableRows(document.toJS() as TableFile, minor);
  const changes = items.flatMap((member, i) => {
    const row = rows?.[i];
    const change = row === undefined ? advanceBy(yaml, advancedPairs) : useRow(yaml, row);
    return change(member, isMap(member) ? `${String(member.get('name'))}: ` : '');
  });
  changes.push(...advanceBy(yaml, advancedHooks)(document.get('hooks'), 'hooks: '));
  if (ctl !== undefined && document.get('ctl_binary') !== ctl) {
    document.set('ctl_binary', ctl);
    changes.push(`ctl_binary: ${ctl}`);
  }
  if (changes.length > 0 && document.has('to')) {
    document.delete('to');
    changes.push('to: removed; kv upgrade --to sets the next version');
  }
  return { text: changes.length === 0 ? text : document.toString({ lineWidth: 0 }), changes };
};

const patch = str(32, { pattern: '^\\d+\\.\\d+\\.\\d+$' });
const words = str(500, { min: 1 });
const day = str(10, { format: 'date' });

/**
 * Fields of a file with newer data about single versions. `opsctl kv versions --as-file` prints the built-in
 * data in this format.
 */
const versionFileFields: Fields = {
  data_of: req(help(day, 'Date of the data; not before the date of the built-in data')),
  minors: req(
    help(
      list(
        obj({
          minor: req(help(str(16, { pattern: '^\\d+\\.\\d+$' }), 'The minor: "3.6"')),
          latest: req(help(patch, 'Newest patch on that date')),
          is_ended: help(bool(), 'The minor version receives no more patches'),
          ended_on: help(day, 'Date of its last patch'),
        }),
        { min: 1, max: 100 },
      ),
      'One entry for each minor',
    ),
  ),
  rules: req(
    help(
      list(
        obj({
          from: req(help(patch, 'First affected patch')),
          through: req(help(patch, 'Last affected patch, of the same minor version')),
          on: req(
            help(oneOf('arrive', 'leave'), 'arrive: not to be started; leave: not to be upgraded from'),
          ),
          level: req(help(oneOf('fail', 'warn'), 'Message of the preflight check')),
          is_final: help(bool(), 'The finding cannot be accepted with --accept'),
          only_with: help(
            oneOf(...ruleConditions),
            'The problem exists only with authentication, or only if the mode of the data directory is not 0700',
          ),
          reason: req(help(words, 'Description of the problem')),
          instead: req(help(words, 'Version to use instead')),
          source: req(help(url(), 'Source of the information')),
        }),
        { max: 1000 },
      ),
      'Known problems of single patches',
    ),
  ),
};

const rangeProblems = ({ from, through }: VersionRule, i: number): Problem[] => {
  const path = `rules[${i}].through`;
  if (minorOf(from) !== minorOf(through))
    return [problem(path, 'rule', `must be of the same minor as from (${from}); got ${through}`)];
  return compareVersions(from, through) > 0
    ? [problem(path, 'rule', `must not be before from (${from}); got ${through}`)]
    : [];
};

const minorProblems = ({ minors }: VersionTable): Problem[] =>
  minors.flatMap(({ minor, latest }, i) => {
    const found: Problem[] = [];
    if (minorOf(latest) !== minor)
      found.push(problem(`minors[${i}].latest`, 'rule', `must be a patch of ${minor}; got ${latest}`));
    if (minors.findIndex((one) => one.minor === minor) < i)
      found.push(problem(`minors[${i}].minor`, 'rule', `${minor} is there twice`));
    return found;
  });

/** Returns every problem in the content. Pure. */
export const versionFileProblems = (content: unknown): Problem[] => {
  const tryThis = next(['kv', 'versions', '--as-file'], 'prints such a file');
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return [problem('', 'type', 'must be a mapping with `data_of`, `minors` and `rules`', tryThis)];
  const wrong = checkFields(versionFileFields, content as Record<string, unknown>);
  if (wrong.length > 0) return wrong;
  const table = content as VersionTable;
  const age: Problem[] =
    table.data_of < versionTable.data_of
      ? [
          problem(
            'data_of',
            'rule',
            `must not be before ${versionTable.data_of}, the date of the built-in data; got ${table.data_of}`,
            'leave the file out, or supply a newer one',
          ),
        ]
      : [];
  return [...age, ...minorProblems(table), ...table.rules.flatMap(rangeProblems)];
};

/** `named`: the flag or setting that contained the path. */
export const readVersions = async (host: Host, path: string, named: string): Promise<VersionTable> => {
  const absolute = resolve(host.cwd, path);
  const refuse = (why: string): never => {
    throw new AppError('config', `${named}: ${why}`, {
      code: 'VERSIONS_FILE',
      tryThis: [next(['kv', 'versions', '--as-file'], 'prints a file to start with')],
    });
  };
  const info = await host.files.info(absolute);
  if (info === undefined) return refuse(`file not found: ${path}`);
  if (info.kind === 'directory') return refuse(`${path} is a directory`);
  if (info.sizeBytes > limits.versionFileBytes)
    return refuse(`${path} has ${info.sizeBytes} bytes, at most ${limits.versionFileBytes} are read`);
  const text = (await host.files.read(absolute)) ?? refuse(`file not found: ${path}`);
  return (await contentOf(text, {
    what: `${named}: ${path}`,
    code: 'VERSIONS_FILE',
    problems: versionFileProblems,
  })) as VersionTable;
};

import { next } from '../../core/next.ts';
import { resolve } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { checkFields } from '../../core/check.ts';
import { bool, type Fields, help, list, obj, oneOf, req, str, url } from '../../core/field.ts';
import { AppError, problem, type Problem } from '../../core/problem.ts';
import {
  compareVersions,
  minorOf,
  type VersionRule,
  versionTable,
  type VersionTable,
} from '../../api-specs/etcd/versions.ts';
import { contentOf } from './cluster/yaml-file.ts';
import { limits } from '../../core/limits.ts';

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

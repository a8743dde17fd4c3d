import { resolve } from 'node:path';
import { invalidArguments, problem } from '../../core/problem.ts';
import type { Context } from '../../cli/command.ts';
import type { Host } from '../../platform/host.ts';
import type { BulkOptions } from './options.ts';
import type { Input } from './outcomes.ts';

/** `.tsv` and `.csv` are CSV; everything else is NDJSON unless a flag says more. */
const formatFor = (values: BulkOptions): Pick<Input, 'format' | 'delimiter'> => {
  const named = values.delimiter;
  const delimiter = named === undefined ? undefined : delimiterWords[named];
  const isTable = /\.(csv|tsv)$/i.test(values.file) || delimiter !== undefined;
  return { format: values['input-format'] ?? (isTable ? 'csv' : 'ndjson'), delimiter };
};
const delimiterWords = { comma: ',', semicolon: ';', tab: '\t' } as const;

/** Pipes of a shell (`<(…)`) and devices can be read once only. */
const isRereadable = async ({ files }: Host, path: string): Promise<boolean> =>
  !/^\/(dev|proc)\//.test((await files.realPath(path)) ?? path) && !/^\/(dev|proc)\//.test(path);

export const open = async ({ host }: Context, values: BulkOptions): Promise<Input> => {
  const given = values.file;
  const format = formatFor(values);
  if (given === '-')
    return {
      bytes: host.terminal.stdin.bytes(),
      ...format,
      sizeBytes: undefined,
      path: '-',
      name: 'standard input',
      isFile: false,
    };
  const path = resolve(host.cwd, given);
  const info = await host.files.info(path);
  if (info === undefined)
    throw invalidArguments([problem('--file', 'rule', `names ${given}, which does not exist`)]);
  if (info.kind === 'directory')
    throw invalidArguments([problem('--file', 'rule', `names ${given}, which is a directory`)]);
  return {
    bytes: host.files.stream(path),
    ...format,
    sizeBytes: info.sizeBytes,
    path,
    name: given,
    isFile: await isRereadable(host, path),
  };
};

import { versionRows } from '../../api-specs/etcd/versions.ts';
import type { Argument, Flag } from '../../cli/command.ts';
import { oneOf, req, str } from '../../core/field.ts';

export const fileArgument = {
  name: 'file',
  effects: ['reads'],
  field: req(str(undefined, { min: 1 })),
  summary: "The server's configuration file (YAML)",
  complete: 'file',
} as const satisfies Argument;

export const toFlag = {
  field: oneOf(...versionRows.map(({ minor }) => minor)),
  summary: 'Target version (default 3.3)',
  value: 'minor',
} as const satisfies Flag;

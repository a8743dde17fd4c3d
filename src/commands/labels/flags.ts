import { bool, list, str } from '../../core/field.ts';
import type { Argument, Flag, Flags } from '../../cli/command.ts';
import { TITLES } from '../../labels/titles.ts';

export const labelArgument = {
  name: 'label',
  effects: [],
  field: str(),
  summary: 'Title, id or labels/<id>',
  complete: TITLES,
} as const satisfies Argument;
export const adminFlag = {
  effects: [],
  field: bool(),
  summary: 'Act with admin rights (useAdminAccess)',
} as const satisfies Flag;

export const filesFlag = {
  effects: ['reads'],
  field: list(str()),
  short: 'f',
  repeat: true,
  summary: 'File or directory; - is standard input',
  value: 'file',
  complete: 'file',
} as const satisfies Flag;
export const deploymentFlag = {
  effects: [],
  field: str(),
  summary: 'Name of the service in labels.lock.yaml (default: its base URL)',
  value: 'name',
} as const satisfies Flag;

/** What `apply`, `plan` and `diff -f` share: how files are compared with the service. */
export const comparingFlags = {
  publish: { effects: [], field: bool(), summary: 'Publish labels whose file does not say a state' },
  prune: { effects: [], field: bool(), summary: 'Delete what the file no longer has (default: disable it)' },
  deployment: deploymentFlag,
  admin: adminFlag,
} as const satisfies Flags;

type Comparing = {
  readonly publish?: boolean | undefined;
  readonly prune?: boolean | undefined;
  readonly deployment?: string | undefined;
  readonly admin?: boolean | undefined;
};
export const comparingOptions = ({ publish, prune, deployment, admin }: Comparing) => ({
  publish: publish ?? false,
  prune: prune ?? false,
  admin: admin ?? false,
  ...(deployment === undefined ? {} : { deployment }),
});

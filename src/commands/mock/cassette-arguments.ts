import { list, oneOf, str } from '../../core/field.ts';
import type { Argument, Flags } from '../../cli/command.ts';
import { portFlag } from './port-flag.ts';

export const command = {
  name: 'command',
  effects: ['runs'],
  field: list(str()),
  summary: 'The command and its arguments; without one the server runs until Ctrl-C',
  rest: true,
  optional: true,
} as const satisfies Argument;

export const cassette = {
  name: 'file',
  effects: ['reads'],
  field: str(4096, { min: 1 }),
  summary: 'The cassette',
  complete: 'file',
} as const satisfies Argument;

export const serviceFlags = {
  service: {
    field: oneOf('tracker', 'labels', 'api'),
    summary: 'Whose OPSCTL_…_URL the command gets (default tracker)',
  },
  port: portFlag,
} as const satisfies Flags;

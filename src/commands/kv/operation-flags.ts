import type { Flags } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { runFlags } from './run-flags.ts';
import { confirmFlags } from './window-flags.ts';

export const stepFlags = {
  'confirm-each': {
    ...confirmFlags['confirm-each'],
    summary: 'Ask before each step that changes something; "no" stops there, the same command goes on',
  },
} as const satisfies Flags;

export const operationFlags = {
  ...endpointFlags,
  ...stepFlags,
  canary: runFlags.canary,
} as const satisfies Flags;

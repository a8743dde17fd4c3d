import type { Argument, Flags, ValuesOf } from '../../cli/command.ts';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import { fleetEngines } from '../../kv/upgrade/fleet/fleet-engines.ts';
import { crossingFlags } from './run-flags.ts';

export const fleetFlags = {
  ...crossingFlags,
  'hold-last': { field: bool(), summary: 'Stop each cluster before its last member; kv resume goes on' },
  'at-once': {
    field: int({ min: 1, max: 50 }),
    summary: 'How many clusters at a time after the canary; the file says it, else 1',
    value: 'n',
  },
  emit: {
    field: oneOf(...fleetEngines),
    summary: 'Print what an existing engine runs instead: a playbook, its inventory, a workflow',
    value: fleetEngines.join('|'),
  },
  image: {
    field: str(1024, { min: 1 }),
    summary: 'With --emit argo: image with opsctl as its entry point',
    value: 'image',
  },
} as const satisfies Flags;

export const fleetArgs = [
  {
    name: 'file',
    effects: ['reads', 'runs', 'sends'],
    field: req(str(undefined, { min: 1 })),
    summary: 'The fleet file',
    complete: 'file',
  },
] as const satisfies readonly Argument[];

export type FleetValues = ValuesOf<typeof fleetFlags, typeof fleetArgs>;

const lastMember = ['accept-point-of-no-return', 'hold-last'] as const;

/** What becomes of the last member of each cluster: nobody can be asked there. */
export const lastMemberFlags = (values: FleetValues): string[] =>
  lastMember.filter((name) => values[name] === true).map((name) => `--${name}`);

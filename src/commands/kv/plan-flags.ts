import { versionRows, nextMinor } from '../../api-specs/etcd/versions.ts';
import type { Flags, ValuesOf } from '../../cli/command.ts';
import { list, bool, int, str } from '../../core/field.ts';
import { acceptable } from '../../kv/upgrade/guards/acceptable.ts';
import { clusterFlags } from './flags.ts';
import { versionsFlag } from './versions-flag.ts';

const targets = versionRows.flatMap(({ minor }) => nextMinor(minor) ?? []);

export const planFlags = {
  ...clusterFlags,
  to: {
    effects: [],
    field: str(16, { pattern: '^\\d+\\.\\d+$' }),
    summary: `Version to go to (${targets.join(', ')}) (default: the next one)`,
    value: 'minor',
    suggest: targets,
  },
  'copy-data': {
    effects: [],
    field: bool(),
    summary:
      'Copy each data directory while its member is stopped (snapshots hold only v3 data; required with v2 data)',
  },
  'hold-last': {
    effects: [],
    field: bool(),
    summary: 'Stop before the last member: until then everything can go back',
  },
  'hold-after': {
    field: int({ min: 1, max: 99 }),
    summary: 'Stop after so many members, for hours or days if need be; kv resume goes on',
    value: 'n',
  },
  'stable-for': {
    field: int({ min: 0, max: 3600 }),
    summary: 'Seconds a member must stay good before the next one (default 1)',
    value: 'seconds',
  },
  'stable-before-last': {
    field: int({ min: 0, max: 86_400 }),
    summary:
      'Seconds all upgraded members must have been good together before the last old one is stopped (default 10)',
    value: 'seconds',
  },
  accept: {
    effects: [],
    field: list(str()),
    repeat: true,
    summary: "Take a guard's refusal as a warning: its name, as `kv check` prints it",
    value: 'guard',
    suggest: acceptable,
  },
  ...versionsFlag,
} as const satisfies Flags;

export type PlanValues = ValuesOf<typeof planFlags>;

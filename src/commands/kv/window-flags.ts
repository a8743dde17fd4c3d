import type { Flags, ValuesOf } from '../../cli/command.ts';
import { bool, list, str } from '../../core/field.ts';

export const confirmFlags = {
  'confirm-each': { field: bool(), summary: 'Ask before each member; "no" holds the run there' },
} as const satisfies Flags;

/** For runs that nobody watches, or that somebody watches closely. */
export const windowFlags = {
  ...confirmFlags,
  until: {
    field: str(64, { min: 1 }),
    summary:
      'Start no member that may not be finished by then: 04:00, 04:00 Europe/Berlin, 04:00Z; the run holds',
    value: 'time',
  },
  'pause-while-command': {
    effects: ['runs'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this shell command exits 0 (users are affected); 1 is no',
    value: 'command',
  },
  'pause-while-query': {
    effects: ['sends'],
    field: list(str(8192, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this PromQL query gives a sample, as an alert fires',
    value: 'promql',
  },
  prometheus: {
    effects: ['sends'],
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'Base URL for --pause-while-query; a bearer token comes from OPSCTL_PROMETHEUS_TOKEN',
    value: 'url',
  },
  'pause-at-most': {
    field: str(32, { min: 1 }),
    summary: 'Pause so long before one member, then hold (default 1h)',
    value: 'duration',
  },
} as const satisfies Flags;

export type WindowValues = ValuesOf<typeof windowFlags>;

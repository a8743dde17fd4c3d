import type { Flags } from '../../cli/command.ts';
import { oneOf, str } from '../../core/field.ts';
import { noticeShapes } from '../../kv/upgrade/window/notice.ts';

/** Who hears of a run that nobody watches. */
export const outsideFlags = {
  notify: {
    effects: ['sends'],
    field: str(4096, { min: 1, pattern: '^https?://' }),
    summary:
      'Webhook for begin, members, pauses and end (default: OPSCTL_NOTIFY_URL, which keeps it out of the process list); signed with OPSCTL_NOTIFY_SECRET',
    value: 'url',
  },
  'notify-format': {
    field: oneOf(...noticeShapes),
    summary: 'Shape of the body (default: slack for hooks.slack.com, else json)',
    value: 'json|slack',
  },
  'metrics-file': {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary:
      'Keep progress and outcome there as OpenMetrics, for the textfile collector of the node exporter',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

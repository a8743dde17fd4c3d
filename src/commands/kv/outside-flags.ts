import { resolve } from 'node:path';
import { oneOf, str } from '../../core/field.ts';
import type { Plan, Sink } from '../../kv-upgrade/types.ts';
import { noticeShapes } from '../../kv-upgrade/window/notice.ts';
import type { RunNamed } from '../../kv-upgrade/window/notice.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';

/** Who hears of a run that nobody watches. */
export const outsideFlags = {
  notify: {
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
    field: str(4096, { min: 1 }),
    summary:
      'Keep progress and outcome there as OpenMetrics, for the textfile collector of the node exporter',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
export type OutsideValues = ValuesOf<typeof outsideFlags>;

type Listener = { readonly take: Sink; finish(): Promise<void> };

const notified = async (
  { host, log }: Context,
  values: OutsideValues,
  named: RunNamed,
): Promise<Listener[]> => {
  const url = values.notify ?? host.env['OPSCTL_NOTIFY_URL'];
  if (!url) return [];
  const { notifier } = await import('../../kv-upgrade/window/notify.ts');
  const { pathname, search, hostname } = new URL(url);
  for (const secret of [url, pathname, search]) if (secret.length > 8) log.hide(secret);
  const secret = host.env['OPSCTL_NOTIFY_SECRET'] || undefined;
  if (secret !== undefined) log.hide(secret);
  const shape = values['notify-format'] ?? (hostname === 'hooks.slack.com' ? 'slack' : 'json');
  return [notifier(host, { url, shape, secret }, named, log.warn)];
};

const measured = async (
  { host, log }: Context,
  values: OutsideValues,
  named: RunNamed,
): Promise<Listener[]> => {
  const path = values['metrics-file'];
  if (path === undefined) return [];
  const { metricsFile } = await import('../../kv-upgrade/window/metrics.ts');
  return [metricsFile(host, resolve(host.cwd, path), named, log.warn)];
};

/** What happens in the run goes to the sink and to everybody outside; they are waited for at its end. */
export const withListeners = async <T>(
  context: Context,
  values: OutsideValues,
  about: {
    readonly plan: Pick<Plan, 'cluster' | 'from' | 'to'>;
    readonly run: string;
    readonly action: string;
  },
  sink: Sink,
  conduct: (sink: Sink) => Promise<T>,
): Promise<T> => {
  const { plan, run, action } = about;
  const named: RunNamed = { cluster: plan.cluster, run, action, from: plan.from, to: plan.to };
  const listeners = [
    ...(await notified(context, values, named)),
    ...(await measured(context, values, named)),
  ];
  if (listeners.length === 0) return conduct(sink);
  try {
    return await conduct((event) => {
      sink(event);
      for (const { take } of listeners) take(event);
    });
  } finally {
    await Promise.all(listeners.map(({ finish }) => finish()));
  }
};

import { resolve } from 'node:path';
import { refuseLongSecret } from '../../../core/secret-size.ts';
import type { Host } from '../../../platform/host.ts';
import type { Plan, Sink } from '../../engine/types.ts';
import type { NoticeShape, RunNamed } from './notice.ts';

/** Who is to hear of a run, as flags say it: each under the name of its flag. */
type Given = {
  readonly notify?: string | undefined;
  readonly 'notify-format'?: NoticeShape | undefined;
  readonly 'metrics-file'?: string | undefined;
};
type Place = {
  readonly host: Host;
  /** Warnings, and values that are never shown. */
  readonly log: { warn(text: string): void; hide(secret: string): void };
};

type Listener = { readonly take: Sink; finish(): Promise<void> };

const notified = async ({ host, log }: Place, given: Given, named: RunNamed): Promise<Listener[]> => {
  const url = given.notify ?? host.env['OPSCTL_NOTIFY_URL'];
  if (!url) return [];
  const { notifier } = await import('./notify.ts');
  refuseLongSecret('config', given.notify === undefined ? 'OPSCTL_NOTIFY_URL' : '--notify', url);
  const { pathname, search, hostname } = new URL(url);
  for (const secret of [url, pathname, search]) if (secret.length > 8) log.hide(secret);
  const secret = host.env['OPSCTL_NOTIFY_SECRET'] || undefined;
  if (secret !== undefined) {
    refuseLongSecret('config', 'OPSCTL_NOTIFY_SECRET', secret);
    log.hide(secret);
  }
  const shape = given['notify-format'] ?? (hostname === 'hooks.slack.com' ? 'slack' : 'json');
  return [notifier(host, { url, shape, secret }, named, log.warn)];
};

const measured = async ({ host, log }: Place, given: Given, named: RunNamed): Promise<Listener[]> => {
  const path = given['metrics-file'];
  if (path === undefined) return [];
  const { metricsFile } = await import('./metrics.ts');
  return [metricsFile(host, resolve(host.cwd, path), named, log.warn)];
};

/** What happens in the run goes to the sink and to everybody outside; they are waited for at its end. */
export const withListeners = async <T>(
  place: Place,
  given: Given,
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
  const listeners = [...(await notified(place, given, named)), ...(await measured(place, given, named))];
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

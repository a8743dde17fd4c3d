import { createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { refuseLongSecret } from '../../../core/field.ts';
import type { Host } from '../../../platform/host.ts';
import type { Plan, Sink, UpgradeEvent } from '../../engine/model.ts';

export const noticeShapes = ['json', 'slack'] as const;
export type NoticeShape = (typeof noticeShapes)[number];
/** What somebody who does not watch wants to know: begin, each member, a pause, a rollback, the end. Nothing else is sent. */
export type Notice = {
  readonly event: 'run-started' | 'member-upgraded' | 'note' | 'reverting' | 'reverted' | 'run-finished';
  readonly at: string;
  readonly cluster: string;
  readonly run: string;
  readonly action: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly member?: string;
  readonly outcome?: string;
};
export type RunNamed = Pick<Notice, 'cluster' | 'run' | 'action' | 'from' | 'to'>;
const bodyOf = (event: UpgradeEvent): Pick<Notice, 'event' | 'text' | 'member' | 'outcome'> | undefined => {
  switch (event.event) {
    case 'run-started':
      return { event: 'run-started', text: `${event.action} begins` };
    case 'step-finished':
      return event.step.kind === 'gate' && event.was_done_before !== true
        ? {
            event: 'member-upgraded',
            member: event.step.member,
            text: `${event.step.member} runs the new version`,
          }
        : undefined;
    case 'note':
      return event.level === 'warn' ? { event: 'note', text: event.text } : undefined;
    case 'reverting':
      return {
        event: 'reverting',
        member: event.member,
        text: `${event.member} is rolled back: ${event.reason}`,
      };
    case 'reverted':
      return { event: 'reverted', member: event.member, text: `${event.member} runs its old version again` };
    case 'run-finished':
      return { event: 'run-finished', outcome: event.outcome, text: event.message };
    default:
      return undefined;
  }
};
/** Undefined for events that are nobody's news. Pure. */
export const noticeOf = (named: RunNamed, event: UpgradeEvent): Notice | undefined => {
  const body = bodyOf(event);
  return body === undefined ? undefined : { ...body, at: event.at, ...named };
};
/** Text that Slack would read as a link, a mention or a channel. */
const plain = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** The body of a request. Slack reads `text` of an incoming webhook. Pure. */
export const noticeBody = (notice: Notice, shape: NoticeShape): string => {
  if (shape === 'json') return JSON.stringify(notice);
  const { cluster, from, to, text, outcome } = notice;
  const end = outcome === undefined ? '' : `*${outcome}* `;
  return JSON.stringify({ text: `${end}${plain(`${cluster} ${from} → ${to}: ${text}`)}` });
};
/** `t=SECONDS,v1=HEX`: HMAC-SHA256 of `SECONDS.BODY`. The time is signed too, so that an old request can be told from a new one. Pure. */
export const signature = (secret: string, seconds: number, body: string): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;

export type Webhook = {
  readonly url: string;
  readonly shape: NoticeShape;
  readonly secret?: string | undefined;
};
export type Notifier = {
  readonly take: Sink;
  /** Waits for what is under way, for a limited time. */
  finish(): Promise<void>;
};
const requestMs = 5000;
const tries = 2;
/** What the end of a run waits for at most, and how much may wait to be sent: a receiver that hangs must not hold a run. */
const finishMs = 15_000;
const mostWaiting = 100;
/** Undefined when the receiver took it, else why not. The path and the query of a webhook are its secret. */
const post = async (
  host: Host,
  { url, secret }: Webhook,
  body: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const seconds = Math.floor(host.now() / 1000);
  const signed: Record<string, string> =
    secret === undefined ? {} : { 'opsctl-signature': signature(secret, seconds, body) };
  try {
    const reply = await host.network.request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...signed },
      body,
      timeoutMs: requestMs,
      connectTimeoutMs: requestMs,
      maxReplyBytes: 65_536,
      signal,
    });
    await reply.bytes();
    return reply.status < 300 ? undefined : `it answered ${reply.status}`;
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll(url, new URL(url).host) : 'no answer';
  }
};
/** Resolves when the work has ended, or aborts it when it takes too long. */
const withinLimit = async (host: Host, work: Promise<void>, over: AbortController): Promise<void> => {
  const ended = new AbortController();
  const late = host.sleep(finishMs, ended.signal).then(
    () => over.abort(),
    () => undefined,
  );
  await work;
  ended.abort();
  await late;
};
/** Sends one notice after the other. Whatever goes wrong is a warning, once: a run never fails because of it. */
export const notifier = (
  host: Host,
  hook: Webhook,
  named: RunNamed,
  warn: (text: string) => void,
): Notifier => {
  let [waiting, hasWarned] = [0, false];
  let last: Promise<void> = Promise.resolve();
  const over = new AbortController();
  const warnFailed = (why: string): void => {
    if (hasWarned) return;
    hasWarned = true;
    warn(`a notice could not be sent to ${new URL(hook.url).host}: ${why}; the run goes on`);
  };
  const send = async (body: string): Promise<void> => {
    let why: string | undefined = 'the run had ended';
    for (let left = tries; left > 0 && why !== undefined && !over.signal.aborted; left -= 1)
      why = await post(host, hook, body, over.signal);
    if (why !== undefined) warnFailed(why);
    waiting -= 1;
  };
  return {
    take: (event) => {
      const notice = noticeOf(named, event);
      if (notice === undefined) return;
      if (waiting >= mostWaiting) return warnFailed('too many notices wait');
      waiting += 1;
      last = last.then(() => send(noticeBody(notice, hook.shape)));
    },
    finish: () => withinLimit(host, last, over),
  };
};

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
const makeNotifiers = async ({ host, log }: Place, given: Given, named: RunNamed): Promise<Listener[]> => {
  const url = given.notify ?? host.env['OPSCTL_NOTIFY_URL'];
  if (!url) return [];
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
const makeMetricsWriters = async (
  { host, log }: Place,
  given: Given,
  named: RunNamed,
): Promise<Listener[]> => {
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
  const listeners = [
    ...(await makeNotifiers(place, given, named)),
    ...(await makeMetricsWriters(place, given, named)),
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

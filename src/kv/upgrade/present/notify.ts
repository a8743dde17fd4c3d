import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { parseUrl, plainHttpProblem } from '../../../core/external-url.ts';
import { refuseLongSecret } from '../../../core/field.ts';
import { invalidArguments, problem, writeFailureReason } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import type { Outcome, Plan, Sink, UpgradeEvent } from '../../engine/model.ts';
import { actionWay } from '../plan-kind.ts';
import { type RunMember, type RunModel, emptyRun, getOwn, revertText, runAfter } from './run-model.ts';
import { createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** The metrics of a run for a scraper. */
export type Progress = {
  readonly named: RunSummary;
  readonly startedMs: number;
  readonly updatedMs: number;
  readonly stepsDone: number;
  readonly steps: number;
  /** Versions by member. */
  readonly versions: Readonly<Record<string, string>>;
  readonly outcome?: Outcome | undefined;
};

const outcomes: readonly Outcome[] = [
  'done',
  'held',
  'stopped',
  'rolled-back',
  'failed',
  'aborted',
  'refused',
];
const label = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];
type Family = {
  readonly name: string;
  readonly unit?: string;
  readonly help: string;
  readonly samples: (progress: Progress) => readonly Sample[];
};

const count = (values: readonly string[]): readonly Sample[] =>
  [...new Set(values)].sort().map((version) => [{ version }, values.filter((one) => one === version).length]);
/** One row per metric; the text of the file derives from it. */
const families: readonly Family[] = [
  {
    name: 'steps',
    help: 'Steps of the plan.',
    samples: ({ steps }) => [[{}, steps]],
  },
  { name: 'steps_done', help: 'Finished steps.', samples: ({ stepsDone }) => [[{}, stepsDone]] },
  {
    name: 'members',
    help: 'Members by their version.',
    samples: ({ versions }) => count(Object.values(versions)),
  },
  {
    name: 'running',
    help: 'Whether a run is in progress.',
    samples: ({ outcome }) => [[{}, outcome === undefined ? 1 : 0]],
  },
  {
    name: 'last_outcome',
    help: 'Outcome of the last run; 1 for its outcome.',
    samples: ({ outcome }) => outcomes.map((one) => [{ outcome: one }, one === outcome ? 1 : 0]),
  },
  {
    name: 'start_timestamp_seconds',
    unit: 'seconds',
    help: 'Start time of the run.',
    samples: ({ startedMs }) => [[{}, startedMs / 1000]],
  },
  {
    name: 'update_timestamp_seconds',
    unit: 'seconds',
    help: 'Time of the last write of this file.',
    samples: ({ updatedMs }) => [[{}, updatedMs / 1000]],
  },
  {
    name: 'end_timestamp_seconds',
    unit: 'seconds',
    help: 'End time of the run.',
    samples: ({ outcome, updatedMs }) => (outcome === undefined ? [] : [[{}, updatedMs / 1000]]),
  },
];

/**
 * Formats OpenMetrics 1.0 text with gauges only, which the textfile collector of the node exporter reads as
 * well. Pure.
 */
export const metricsText = (progress: Progress): string => {
  const { cluster, run, action, from, to } = progress.named;
  const common = { cluster };
  const line = (name: string, labels: Readonly<Record<string, string>>, value: number): string =>
    `${name}{${Object.entries(labels)
      .map(([key, text]) => `${key}=${label(text)}`)
      .join(',')}} ${value}`;
  const info = 'opsctl_kv_run_info';
  const parts = families.map(({ name, unit, help, samples }) => {
    const full = `opsctl_kv_run_${name}`;
    const lines = samples(progress).map(([labels, value]) => line(full, { ...common, ...labels }, value));
    return lines.length === 0
      ? []
      : [
          `# TYPE ${full} gauge`,
          ...(unit === undefined ? [] : [`# UNIT ${full} ${unit}`]),
          `# HELP ${full} ${help}`,
          ...lines,
        ];
  });
  return [
    `# TYPE ${info} gauge`,
    `# HELP ${info} Which run this is.`,
    line(info, { cluster, run, action, from, to }, 1),
    ...parts.flat(),
    '# EOF',
    '',
  ].join('\n');
};

/** `none` for a member that the run has stopped, `unknown` for another member that does not respond. */
const versionOf = ({ histories }: RunModel, { name, version, isDown }: RunMember): string => {
  if (!isDown) return minorOf(version) ?? 'unknown';
  return getOwn(histories, name)?.changes.at(-1)?.to === 'down' ? 'none' : 'unknown';
};
/** The metrics of the members and steps, from the model of the run. Pure. */
const metricsOf = (run: RunModel) => ({
  steps: run.stepCount,
  stepsDone: run.done.size,
  versions: Object.fromEntries(run.members.map((member) => [member.name, versionOf(run, member)])),
  outcome: run.outcome,
});

/** Writes the newest text, one write after the other, each as a whole file by rename. */
const newestOnly = (write: () => Promise<void>): { mark(): void; finish(): Promise<void> } => {
  let writing: Promise<void> | undefined;
  let isStale = false;
  const loop = async (): Promise<void> => {
    while (isStale) {
      isStale = false;
      await write();
    }
    writing = undefined;
  };
  return {
    mark: () => {
      isStale = true;
      writing ??= loop();
    },
    finish: async () => writing,
  };
};

/** Keeps a file up to date. If the file cannot be written, prints one warning. */
export const metricsFile = (
  host: Host,
  path: string,
  named: RunSummary,
  warn: (text: string) => void,
): { readonly take: Sink; finish(): Promise<void> } => {
  const startedMs = host.now();
  let run = emptyRun;
  let hasWarned = false;
  const writer = newestOnly(async () => {
    const progress = { named, startedMs, updatedMs: host.now(), ...metricsOf(run) };
    // The collector runs as a different user.
    await host.files.replace(path, metricsText(progress), 0o644).catch((error: Error) => {
      if (!hasWarned)
        warn(`--metrics-file: ${path} cannot be written: ${writeFailureReason(error)}; the run continues`);
      hasWarned = true;
    });
  });
  return {
    take: (event) => {
      const before = run;
      run = runAfter(run, event);
      if (!isDeepStrictEqual(metricsOf(before), metricsOf(run))) writer.mark();
    },
    finish: writer.finish,
  };
};

export type NoticeShape = 'json' | 'slack';
/** A notice for a user who does not watch the run: start, each member, a pause, a rollback, the end. */
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
export type RunSummary = Pick<Notice, 'cluster' | 'run' | 'action' | 'from' | 'to'>;
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
        text: revertText(event),
      };
    case 'reverted':
      return { event: 'reverted', member: event.member, text: `${event.member} runs its old version again` };
    case 'run-finished':
      return { event: 'run-finished', outcome: event.outcome, text: event.message };
    default:
      return undefined;
  }
};
/** Undefined for events without a notice. Pure. */
export const noticeOf = (named: RunSummary, event: UpgradeEvent): Notice | undefined => {
  const body = bodyOf(event);
  return body === undefined ? undefined : { ...body, at: event.at, ...named };
};
/** Escapes text that Slack would interpret as a link, a mention or a channel. */
const plain = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** Formats the body of a request. Slack reads `text` of an incoming webhook. Pure. */
export const noticeBody = (notice: Notice, shape: NoticeShape): string => {
  if (shape === 'json') return JSON.stringify(notice);
  const { cluster, from, to, text, outcome } = notice;
  const end = outcome === undefined ? '' : `*${outcome}* `;
  return JSON.stringify({ text: `${end}${plain(`${cluster} ${from} → ${to}: ${text}`)}` });
};
/**
 * `t=SECONDS,v1=HEX`: HMAC-SHA256 of `SECONDS.BODY`. The signature covers the time, so a receiver can detect
 * a replayed request. Pure.
 */
export const signature = (secret: string, seconds: number, body: string): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;

export type Webhook = {
  readonly url: string;
  readonly shape: NoticeShape;
  readonly secret?: string | undefined;
};
export type Notifier = {
  readonly take: Sink;
  /** Waits for pending requests, for a limited time. */
  finish(): Promise<void>;
};
const requestMs = 5000;
const tries = 2;
/** Maximum wait at the end of a run, and maximum size of the queue: a slow receiver must not delay a run. */
const finishMs = 15_000;
const mostWaiting = 100;
/**
 * Undefined if the receiver accepted the notice, otherwise the error. The path and the query of a webhook are
 * secret.
 */
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
      // Everyone who reads the URL of a webhook can use it.
      needsTls: true,
      timeoutMs: requestMs,
      connectTimeoutMs: requestMs,
      maxReplyBytes: 65_536,
      signal,
    });
    await reply.bytes();
    return reply.status < 300 ? undefined : `it returned ${reply.status}`;
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll(url, new URL(url).host) : 'no response';
  }
};
/** Resolves when the work is complete, or aborts it at the time limit. */
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
/**
 * Sends one notice after the other. Any failure causes only one warning: a run never fails because of a
 * notice.
 */
export const notifier = (
  host: Host,
  hook: Webhook,
  named: RunSummary,
  warn: (text: string) => void,
): Notifier => {
  let [waiting, hasWarned] = [0, false];
  let last: Promise<void> = Promise.resolve();
  const over = new AbortController();
  const warnFailed = (why: string): void => {
    if (hasWarned) return;
    hasWarned = true;
    warn(`cannot send a notice to ${new URL(hook.url).host}: ${why}; the run continues`);
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
      if (waiting >= mostWaiting) return warnFailed('too many notices are waiting');
      waiting += 1;
      last = last.then(() => send(noticeBody(notice, hook.shape)));
    },
    finish: () => withinLimit(host, last, over),
  };
};

/** The receivers of notices about a run, each under the name of its flag. */
type Given = {
  readonly notify?: string | undefined;
  readonly 'notify-format'?: NoticeShape | undefined;
  readonly 'metrics-file'?: string | undefined;
};
type Place = {
  readonly host: Host;
  /** Prints warnings, and hides secret values. */
  readonly log: { warn(text: string): void; hide(secret: string): void };
};
type Listener = { readonly take: Sink; finish(): Promise<void> };
/** The rule of the connection, checked before the run starts. The message does not contain the path of the URL. */
const checkWebhook = (host: Host, name: string, text: string): URL => {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalidArguments([problem(name, 'format', 'the value is not an https URL')]);
  const plainHttp = plainHttpProblem(url, { needsTls: true }, host.env);
  if (plainHttp !== undefined) throw invalidArguments([problem(name, 'format', plainHttp)]);
  return url;
};
const makeNotifiers = async ({ host, log }: Place, given: Given, named: RunSummary): Promise<Listener[]> => {
  const url = given.notify ?? host.env['OPSCTL_NOTIFY_URL'];
  if (!url) return [];
  const name = given.notify === undefined ? 'OPSCTL_NOTIFY_URL' : '--notify';
  refuseLongSecret('config', name, url);
  const { pathname, search, hostname } = checkWebhook(host, name, url);
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
  named: RunSummary,
): Promise<Listener[]> => {
  const path = given['metrics-file'];
  if (path === undefined) return [];
  return [metricsFile(host, resolve(host.cwd, path), named, log.warn)];
};
/** Sends events of the run to the sink and to all receivers, and waits for the receivers at the end. */
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
  const named: RunSummary = { cluster: plan.cluster, run, action, ...actionWay(action, plan) };
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

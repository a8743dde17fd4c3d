import type { Host } from '../../../platform/host.ts';
import type { Sink } from '../../engine/types.ts';
import { noticeBody, noticeOf, signature } from './notice.ts';
import type { NoticeShape, RunNamed } from './notice.ts';

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
const posted = async (
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
  const failed = (why: string): void => {
    if (hasWarned) return;
    hasWarned = true;
    warn(`a notice could not be sent to ${new URL(hook.url).host}: ${why}; the run goes on`);
  };
  const send = async (body: string): Promise<void> => {
    let why: string | undefined = 'the run had ended';
    for (let left = tries; left > 0 && why !== undefined && !over.signal.aborted; left -= 1)
      why = await posted(host, hook, body, over.signal);
    if (why !== undefined) failed(why);
    waiting -= 1;
  };
  return {
    take: (event) => {
      const notice = noticeOf(named, event);
      if (notice === undefined) return;
      if (waiting >= mostWaiting) return failed('too many notices wait');
      waiting += 1;
      last = last.then(() => send(noticeBody(notice, hook.shape)));
    },
    finish: () => withinLimit(host, last, over),
  };
};

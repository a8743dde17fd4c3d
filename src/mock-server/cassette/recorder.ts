import { limits } from '../../core/limits.ts';
import { messageOf } from '../../core/error-message.ts';
import { Buffer } from 'node:buffer';
import { AppError } from '../../core/problem.ts';
import {
  type AppendFile,
  type Bytes,
  type Host,
  type Incoming,
  NetworkError,
  type Outgoing,
} from '../../platform/host.ts';
import { redactedForm } from '../../core/redact-secrets.ts';
import { type Exchange, headerLine, keptBody, keptHeaders } from './cassette.ts';

const LOOPBACK = /^(127(\.\d+){3}|\[::1\]|localhost)$/;
/** Headers of one hop (RFC 9110 7.6.1), and those that each side writes itself. */
const OF_THE_HOP = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The base URL of the service that is recorded; tokens must not travel in the clear. */
export const upstreamFrom = (text: string, flag = '--upstream'): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (url === undefined || !isSafe)
    throw new AppError('usage', `${flag} ${text} must be an https:// URL, or http:// on this machine`, {
      code: 'BAD_UPSTREAM',
    });
  return url.href.replace(/\/$/, '');
};

const passedOn = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !OF_THE_HOP.has(name)) kept[name] = value;
  // A cassette keeps plain bodies.
  return { ...kept, 'accept-encoding': 'identity' };
};

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
};

const exchangeOf = (incoming: Incoming, sent: Bytes, answer: Answer): Exchange => {
  const [path = '', query = ''] = incoming.url.split(/\?(.*)/s);
  return {
    request: {
      method: incoming.method,
      path,
      query: redactedForm(query),
      headers: keptHeaders(incoming.headers),
      body: keptBody(sent, incoming.headers['content-type']),
    },
    response: {
      status: answer.status,
      headers: keptHeaders(answer.headers),
      body: keptBody(answer.body, answer.headers['content-type']),
    },
  };
};

const failureText = (error: unknown): string => messageOf(error);

export type Recorder = {
  handle(incoming: Incoming): Promise<Outgoing>;
  readonly count: () => number;
  /** Why the cassette ends before the last exchange. */
  readonly failure: () => unknown;
  close(): void;
};

/** A full disk ends the cassette: the service has done what it was asked for, so its answer is handed on all the same, and a gap would be replayed wrongly. */
const tape = (file: AppendFile) => {
  let count = 0;
  let failure: unknown;
  return {
    keep: (exchange: Exchange): void => {
      if (failure !== undefined) return;
      try {
        file.write(`${JSON.stringify(exchange)}\n`);
        count += 1;
      } catch (error) {
        failure = error;
      }
    },
    count: () => count,
    failure: () => failure,
  };
};

/** Hands every request on to `upstream` and appends it with its response to the cassette; secrets are masked before they are written. */
export const makeRecorder = (host: Host, upstream: string, file: AppendFile): Recorder => {
  if (file.sizeBytes() === 0) file.write(headerLine(upstream, host.now()));
  const { keep, count, failure } = tape(file);
  return {
    handle: async (incoming) => {
      const sent = await incoming.read(limits.cassetteBytes);
      try {
        const reply = await host.network.request({
          method: incoming.method,
          url: `${upstream}${incoming.url}`,
          headers: passedOn(incoming.headers),
          body: sent.length === 0 ? undefined : sent,
          maxReplyBytes: limits.cassetteBytes,
        });
        const answer = { status: reply.status, headers: reply.headers, body: await reply.bytes() };
        keep(exchangeOf(incoming, sent, answer));
        return { status: answer.status, headers: passedBack(answer.headers), body: Buffer.from(answer.body) };
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        const message = `${upstream} did not answer: ${failureText(error)}`;
        return {
          status: 502,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ message }),
        };
      }
    },
    count,
    failure,
    close: () => {
      file.sync();
      file.close();
    },
  };
};

/** The recorder of a cassette that is begun or continued; one that cannot be begun leaves no empty file. */
export const openRecorder = async (host: Host, upstream: string, path: string): Promise<Recorder> => {
  const isNew = (await host.files.info(path)) === undefined;
  const file = host.files.append(path, 0o600);
  try {
    return makeRecorder(host, upstream, file);
  } catch (error) {
    file.close();
    if (isNew) await host.files.remove(path);
    throw error;
  }
};

const passedBack = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_HOP.has(name)));

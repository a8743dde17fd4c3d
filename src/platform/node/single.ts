import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Bytes } from '../host.ts';
import { builtin } from './builtin.ts';
import { usualAuthorities } from './authorities.ts';
import { drained } from './drained.ts';
import {
  type Attempt,
  type Prepared,
  type Progress,
  type Transport,
  type Wire,
  flatHeaders,
  hasNoBody,
  headersWithLength,
  isStream,
  noBytes,
  tlsOptions,
} from './transport.ts';

const wireFrom = (method: string, message: IncomingMessage): Wire => {
  const headers = flatHeaders(message.headers);
  const status = message.statusCode ?? 0;
  const isEmpty = hasNoBody(method, status, headers);
  if (isEmpty) message.resume();
  return { status, headers, body: isEmpty ? noBytes : message };
};

const upload = async (call: ClientRequest, body: AsyncIterable<Bytes>, progress: Progress): Promise<void> => {
  try {
    for await (const chunk of body) {
      if (call.destroyed || call.writableEnded) return;
      if (!call.write(chunk)) await drained(call);
      progress.moved();
    }
    call.end();
  } catch (error) {
    call.destroy(error as Error);
  }
};

const watchConnection = (call: ClientRequest, isSecure: boolean, progress: Progress): void => {
  call.once('socket', (socket) => {
    if (call.reusedSocket || (!isSecure && !socket.connecting)) progress.connected();
    else socket.once(isSecure ? 'secureConnect' : 'connect', () => progress.connected());
  });
};

const closedEarly = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

/** Opens requests on connections that are kept alive; the agents are made by the first that needs them. */
const opener = () => {
  let plain: HttpAgent | undefined;
  let secure: HttpsAgent | undefined;
  return {
    open({ to: { url, path }, request }: Prepared): ClientRequest {
      const { method, tls } = request;
      const target = {
        method,
        headers: headersWithLength(request),
        hostname: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        path,
      };
      if (url.protocol !== 'https:') {
        plain ??= new builtin.http.Agent({ keepAlive: true });
        return builtin.http.request({ ...target, agent: plain });
      }
      secure ??= new builtin.https.Agent({ keepAlive: true });
      return builtin.https.request({ ...target, agent: secure, ...tlsOptions(tls, usualAuthorities) });
    },
    close(): void {
      plain?.destroy();
      secure?.destroy();
    },
  };
};

/** node:http(s) with kept-alive connections: 17 ms for a first request, where undici costs 85 to 240 (spec/program#startup). */
export const singleTransport = (): Transport => {
  const { open, close } = opener();
  return {
    start(prepared: Prepared, progress: Progress): Attempt {
      const call = open(prepared);
      watchConnection(call, prepared.to.url.protocol === 'https:', progress);
      const reply = new Promise<Wire>((resolve, reject) => {
        call.once('response', (message) => resolve(wireFrom(prepared.request.method, message)));
        call.on('error', reject);
        call.once('close', () => reject(closedEarly()));
      });
      const { body } = prepared.request;
      if (!isStream(body)) call.end(body);
      else {
        // A body shorter or longer than announced must fail here, not corrupt the next request on the connection.
        Object.assign(call, { strictContentLength: true });
        void upload(call, body, progress);
      }
      return { reply, destroy: (reason) => void call.destroy(reason) };
    },
    close: async () => close(),
  };
};

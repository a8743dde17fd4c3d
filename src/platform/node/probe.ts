import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Probed } from '../host.ts';
import { builtin } from './builtin.ts';

const pem = (raw: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${raw.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;

/** Errors before the first byte of a server. They do not show who may connect. */
const isNoConnection = (code: string): boolean =>
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL)$/.test(code);

/**
 * No secret is sent, so the server is not verified. This machine may not know the authority of peer
 * certificates.
 */
const open = (url: URL, host: string): Socket | TLSSocket => {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (url.protocol !== 'https:') return builtin.net.connect({ host, port });
  const name = builtin.net.isIP(host) === 0 ? { servername: host } : {};
  return builtin.tls.connect({ host, port, rejectUnauthorized: false, ...name });
};

/** With TLS any response is an acceptance; without it a TLS server responds too, with an error. */
const answerOf = (text: string, isTls: boolean): Probed['answer'] =>
  text.startsWith('HTTP/') && (isTls || / 200 /.test(text.split('\r\n')[0] ?? '')) ? 'accepted' : 'rejected';

export const probe = (address: string, timeoutMs: number): Promise<Probed> =>
  new Promise((resolve) => {
    const url = new URL(address);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const isTls = url.protocol === 'https:';
    const socket = open(url, host);
    let [text, certificate, isConnected] = ['', undefined as string | undefined, false];
    const timer = setTimeout(() => finish(undefined), timeoutMs);
    const look = (): void => {
      const raw = isTls ? (socket as TLSSocket).getPeerCertificate().raw : undefined;
      if (raw !== undefined) certificate = pem(raw);
    };
    const finish = (answer: Probed['answer']): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({
        ...(answer === undefined ? {} : { answer }),
        ...(certificate === undefined ? {} : { certificate }),
      });
    };
    socket.once('connect', () => (isConnected = true));
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      look();
      socket.write(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes('\r\n')) finish(answerOf(text, isTls));
    });
    socket.once('close', () => finish(isConnected ? answerOf(text, isTls) : undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      look();
      finish(isConnected && !isNoConnection(error.code ?? '') ? answerOf(text, isTls) : undefined);
    });
  });

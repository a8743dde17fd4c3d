import { type IncomingMessage, createServer, request } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';

export type ProxyServer = {
  readonly url: string;
  /** `GET http://…` for a forwarded request, `CONNECT host:port` for a tunnel. */
  readonly seen: string[];
  close(): Promise<void>;
};
export type ProxyOptions = { readonly credentials?: string; readonly refuses?: boolean };

const isAllowed = (message: IncomingMessage, { credentials }: ProxyOptions): boolean =>
  credentials === undefined ||
  message.headers['proxy-authorization'] === `Basic ${Buffer.from(credentials).toString('base64')}`;

/** A proxy on loopback that forwards all requests to one port and ignores the requested host, so host names need not exist. */
export const startProxy = async (targetPort: number, options: ProxyOptions = {}): Promise<ProxyServer> => {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    if (!isAllowed(incoming, options)) return void outgoing.writeHead(407).end('who are you?');
    const { pathname, search } = new URL(incoming.url ?? '');
    const { 'proxy-authorization': _, 'proxy-connection': __, ...headers } = incoming.headers;
    const onward = request({
      host: '127.0.0.1',
      port: targetPort,
      method: incoming.method,
      path: pathname + search,
      headers,
    });
    onward.on('response', (reply) => reply.pipe(outgoing.writeHead(reply.statusCode ?? 0, reply.headers)));
    onward.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    seen.push(`CONNECT ${incoming.url}`);
    if (!isAllowed(incoming, options))
      return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    if (options.refuses) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const onward = connect(targetPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket);
      socket.pipe(onward);
    });
    sockets.add(onward);
    for (const end of [onward, socket]) end.on('error', () => {});
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
};

// A load generator with low overhead: raw sockets, keep-alive, and one request at a time per socket.
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * Calls back with the status of each response on `socket`. Counts the bytes of the bodies but does not store them.
 * @param {import('node:net').Socket} socket
 * @param {(status: number) => void} answered
 */
const readAnswers = (socket, answered) => {
  /** @type {Buffer} */
  let head = Buffer.alloc(0);
  let rest = -1;
  let status = 0;
  let isChunked = false;
  socket.on('data', (chunk) => {
    let data = chunk;
    while (data.length > 0) {
      if (isChunked) {
        head = Buffer.concat([head.subarray(-8), data]);
        if (head.subarray(-5).toString('latin1') !== '0\r\n\r\n') return;
        isChunked = false;
        head = Buffer.alloc(0);
        answered(status);
        return;
      }
      if (rest > 0) {
        const taken = Math.min(rest, data.length);
        rest -= taken;
        data = data.subarray(taken);
        if (rest === 0) answered(status);
        continue;
      }
      head = head.length === 0 ? data : Buffer.concat([head, data]);
      const end = head.indexOf(HEAD_END);
      if (end === -1) return;
      const text = head.toString('latin1', 0, end);
      status = Number(text.slice(9, 12));
      const length = /\r\ncontent-length: (\d+)/i.exec(text);
      data = head.subarray(end + 4);
      head = Buffer.alloc(0);
      if (length === null && status !== 204) {
        isChunked = true;
        if (data.length === 0) return;
        continue;
      }
      rest = length === null ? 0 : Number(length[1]);
      if (rest === 0) answered(status);
    }
  });
};

/**
 * Returns the requests per second that `port` handles with `connections` parallel connections for `ms`. `next(i)`
 * returns the text of request i.
 * @param {{
 *   readonly port: number,
 *   readonly connections?: number,
 *   readonly ms: number,
 *   readonly next: (i: number) => string,
 *   readonly expect: number,
 * }} given
 * @returns {Promise<number>}
 */
export const load = ({ port, connections = 8, ms, next, expect }) =>
  new Promise((resolve, reject) => {
    let count = 0;
    let sent = 0;
    let open = connections;
    const start = process.hrtime.bigint();
    const end = start + BigInt(Math.round(ms * 1e6));
    const finish = () => {
      open -= 1;
      if (open === 0) resolve(count / (Number(process.hrtime.bigint() - start) / 1e9));
    };
    for (let i = 0; i < connections; i++) {
      const socket = connect(port, '127.0.0.1', () => socket.write(next(sent++)));
      socket.setNoDelay(true);
      socket.on('error', reject);
      readAnswers(socket, (status) => {
        if (status !== expect)
          return reject(new Error(`port ${port} answered ${status}, expected ${expect}`));
        count += 1;
        if (process.hrtime.bigint() < end) return socket.write(next(sent++));
        socket.destroy();
        finish();
      });
    }
  });

/**
 * @param {string} method
 * @param {string} path
 * @param {Readonly<Record<string, string | number>>} headers
 * @param {string} [body]
 */
export const requestText = (method, path, headers, body) => {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  if (body !== undefined)
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
};

import { get, raw, type WaitingLogin } from '../waiting-login.ts';

/** Requests that a local attacker, or a page in the browser, may send. `closed` attacks may fail the login, but never complete it. */
export type Attack = {
  readonly name: string;
  readonly closed?: true;
  run(login: WaitingLogin): Promise<unknown>;
};

const at = (login: WaitingLogin, path: string): string => `http://127.0.0.1:${login.port}${path}`;
const host = (login: WaitingLogin): string => `Host: 127.0.0.1:${login.port}\r\n`;
const line = (login: WaitingLogin, request: string, more = ''): string =>
  `${request} HTTP/1.1\r\n${host(login)}${more}\r\n`;
const good = (login: WaitingLogin): string => `/?code=evil-code&state=${login.state}`;

export const attacks: readonly Attack[] = [
  { name: 'favicon', run: (l) => get(at(l, '/favicon.ico')) },
  { name: 'root without parameters', run: (l) => get(at(l, '/')) },
  { name: 'wrong state', run: (l) => get(at(l, '/?code=evil&state=wrong')) },
  { name: 'empty state', run: (l) => get(at(l, '/?code=evil&state=')) },
  { name: 'no state', run: (l) => get(at(l, '/?code=evil')) },
  { name: 'no state, relay mark set', run: (l) => get(at(l, '/?code=evil&opsctl_relayed=1')) },
  { name: 'error without state', run: (l) => get(at(l, '/?error=access_denied')) },
  { name: 'error with a wrong state', run: (l) => get(at(l, '/?error=access_denied&state=wrong')) },
  {
    name: 'state twice, the right one first',
    closed: true,
    run: (l) => get(at(l, `/?code=evil&state=${l.state}&state=x`)),
  },
  {
    name: 'state twice, the right one last',
    closed: true,
    run: (l) => get(at(l, `/?code=evil&state=x&state=${l.state}`)),
  },
  { name: 'code twice', closed: true, run: (l) => get(at(l, `/?code=evil&code=other&state=${l.state}`)) },
  {
    name: 'code and error',
    closed: true,
    run: (l) => get(at(l, `/?code=evil&error=access_denied&state=${l.state}`)),
  },
  { name: 'an empty code', closed: true, run: (l) => get(at(l, `/?code=&state=${l.state}`)) },
  {
    name: 'a code with a line end',
    closed: true,
    run: (l) => get(at(l, `/?code=a%0d%0ab&state=${l.state}`)),
  },
  { name: 'the state in other case', run: (l) => get(at(l, `/?code=evil&state=${l.state.toUpperCase()}x`)) },
  { name: 'a prefix of the state', run: (l) => get(at(l, `/?code=evil&state=${l.state.slice(0, -1)}`)) },
  { name: 'the state and a NUL', run: (l) => get(at(l, `/?code=evil&state=${l.state}%00`)) },
  { name: 'POST of the right answer', run: (l) => get(at(l, good(l)), { method: 'POST', body: 'x' }) },
  { name: 'HEAD', run: (l) => get(at(l, good(l)), { method: 'HEAD' }) },
  {
    name: 'OPTIONS',
    run: (l) =>
      get(at(l, good(l)), {
        method: 'OPTIONS',
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
      }),
  },
  { name: 'PUT', run: (l) => get(at(l, good(l)), { method: 'PUT', body: 'x' }) },
  {
    name: 'another Host (rebound name)',
    run: (l) => get(at(l, good(l)), { headers: { host: `evil.example:${l.port}` } }),
  },
  { name: 'Host localhost', run: (l) => get(at(l, good(l)), { headers: { host: `localhost:${l.port}` } }) },
  { name: 'Host without port', run: (l) => get(at(l, good(l)), { headers: { host: '127.0.0.1' } }) },
  { name: 'Host with another port', run: (l) => get(at(l, good(l)), { headers: { host: '127.0.0.1:1' } }) },
  { name: 'no Host (HTTP/1.0)', run: (l) => raw(l.port, `GET ${good(l)} HTTP/1.0\r\n\r\n`) },
  {
    name: 'two Hosts',
    run: (l) => raw(l.port, `GET ${good(l)} HTTP/1.1\r\nHost: evil.example\r\n${host(l)}\r\n`),
  },
  {
    name: 'a whole address as target',
    run: (l) => raw(l.port, line(l, `GET http://127.0.0.1:${l.port}${good(l)}`, 'Connection: close\r\n')),
  },
  { name: 'CONNECT', run: (l) => raw(l.port, line(l, 'CONNECT evil.example:443'), 300) },
  { name: 'another path', run: (l) => get(at(l, `/callback?code=evil&state=${l.state}`)) },
  { name: 'a double slash', run: (l) => raw(l.port, line(l, `GET /${good(l)}`, 'Connection: close\r\n')) },
  {
    name: 'an encoded path',
    run: (l) => raw(l.port, line(l, `GET /%2e?code=evil&state=${l.state}`, 'Connection: close\r\n')),
  },
  { name: 'an address of 9 KiB', run: (l) => get(at(l, `/?code=${'x'.repeat(9000)}&state=${l.state}`)) },
  { name: 'an address of 60 KiB', run: (l) => raw(l.port, line(l, `GET /?code=${'x'.repeat(60_000)}`), 500) },
  {
    name: 'headers of 100 KiB',
    run: (l) => raw(l.port, line(l, `GET ${good(l)}`, `X: ${'y'.repeat(100_000)}\r\n`), 500),
  },
  { name: 'no HTTP at all', run: (l) => raw(l.port, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc', 300) },
  { name: 'a request line of garbage', run: (l) => raw(l.port, 'GET\r\n\r\n', 300) },
  { name: 'a connection that says nothing', run: (l) => raw(l.port, '', 100) },
  { name: 'a guessed launch address', run: (l) => get(at(l, '/go/AAAAAAAAAAAAAAAAAAAAAA')) },
  {
    name: 'script in the parameters',
    run: (l) => get(at(l, '/?error=%3Cscript%3Ealert(1)%3C/script%3E&state=wrong')),
  },
  {
    name: 'terminal codes in path and method',
    run: (l) => raw(l.port, line(l, 'GET /\x9b2J%1b[31m', 'Connection: close\r\n'), 300),
  },
  {
    name: 'another server names itself (iss) with a wrong state',
    run: (l) => get(at(l, '/?code=evil&state=wrong&iss=https://evil.example')),
  },
  {
    name: 'a forged body with content length',
    run: (l) => raw(l.port, line(l, 'GET /', 'Content-Length: 99999\r\n'), 200),
  },
  { name: 'pipelined strangers', run: (l) => raw(l.port, line(l, 'GET /favicon.ico').repeat(20), 300) },
  {
    name: 'an upgrade to a web socket',
    run: (l) =>
      raw(
        l.port,
        line(l, `GET ${good(l)}`, 'Connection: Upgrade\r\nUpgrade: websocket\r\n').replace(l.state, 'wrong'),
        300,
      ),
  },
  { name: 'the right state with the code of an attacker', closed: true, run: (l) => get(at(l, good(l))) },
  {
    name: 'the right state with an error',
    closed: true,
    run: (l) => get(at(l, `/?error=server_error&error_description=%1b[2J&state=${l.state}`)),
  },
];

import { describe, expect, test } from 'vitest';
import { outgoing } from '../../src/platform/node/network.ts';
import {
  connectHost,
  permitRequest,
  plainHttpProblem,
  plainHttpWarning,
} from '../../src/core/external-url.ts';
import { type Node, parseSource, readSources, walk } from '../support/sources.ts';
import { covers } from '../support/covers.ts';

const secret = { headers: { Authorization: 'Bearer x' } };
describe('secrets go over https only, except on loopback', () => {
  test.each([
    ['http://api.example/x', secret, true],
    ['http://0.0.0.0:2379/', secret, true],
    ['http://10.0.0.1/', { needsTls: true as const }, true],
    ['http://127.0.0.1.example/', secret, true],
    ['http://localhost.example/', secret, true],
    ['http://localhost./', secret, true],
    ['http://xlocalhost/', secret, true],
    ['http://[::ffff:127.0.0.1]/', secret, true],
    ['http://0/', secret, true],
    ['http://[::]/', secret, true],
    ['http://127.0.0.1.:1/', secret, false],
    ['http://127.1:1/', secret, false],
    ['http://2130706433:1/', secret, false],
    ['http://api.localhost:1/', secret, false],
    ['http://[::ffff:10.0.0.1]/', secret, true],
    ['http://api.example/x', { headers: { 'X-Auth-Token': 'x' } }, true],
    ['http://api.example/x', { headers: { 'api-key': 'x' } }, true],
    ['http://api.example/x', { headers: { 'Proxy-Authorization': 'x' } }, true],
    ['http://api.example/x', { headers: { Cookie: 'x' } }, true],
    ['http://api.example/x', { headers: { 'X-TrackerToken': 'x' } }, true],
    ['http://api.example/x', { headers: { DPoP: 'x' } }, true],
    ['http://api.example/x?access_token=x', {}, true],
    ['http://api.example/x?a=b&X-Amz-Signature=x', {}, true],
    ['http://api.example/x?client%5Fsecret=x', {}, true],
    ['http://api.example/x?page_token=x', {}, false],
    ['http://api.example/x?cursor_token=x', {}, false],
    ['http://api.example/x', { headers: { 'payload-signature': 'x' } }, false],
    ['http://api.example/x', { headers: { accept: 'x' } }, false],
    ['https://api.example/x', secret, false],
    ['http://127.0.0.1:1/', secret, false],
    ['http://[::1]:1/', secret, false],
    ['http://localhost:1/', { needsTls: true as const }, false],
  ])('%s', covers('spec/program#settings-5'), (url, request, isRefused) => {
    expect(plainHttpProblem(new URL(url), request, {}) !== undefined).toBe(isRefused);
  });
  test('one setting makes an exception for the listed hosts, with a warning', () => {
    const env = { OPSCTL_PLAIN_HTTP_HOSTS: 'store.example, 10.0.0.1:2379' };
    expect(plainHttpProblem(new URL('http://store.example:1/'), secret, env)).toBeUndefined();
    expect(plainHttpProblem(new URL('http://10.0.0.1:2379/'), secret, env)).toBeUndefined();
    expect(plainHttpProblem(new URL('http://10.0.0.1:2380/'), secret, env)).toContain(
      'OPSCTL_PLAIN_HTTP_HOSTS',
    );
    expect(plainHttpWarning(env)).toContain('store.example');
    expect(plainHttpWarning({})).toBeUndefined();
  });
  test('the network layer sends no secret over plain HTTP', covers('spec/program#settings-5'), async () => {
    const network = outgoing({});
    const sent = network.request({
      method: 'GET',
      url: 'http://0.0.0.0:9/',
      headers: { authorization: 'x' },
    });
    await expect(sent).rejects.toMatchObject({ code: 'PLAIN_HTTP', sent: false });
    await network.close();
  });
});

/** Each line compiles only because of its comment; the last ones compile, and the function rejects them. */
test('only a request that the rule permits has a host to connect to', () => {
  const url = new URL('http://10.0.0.1/');
  const asked = { to: { url }, request: {} };
  const permitted = permitRequest(asked, {});
  if (typeof permitted === 'string') throw new Error(permitted);
  expect(connectHost(permitted)).toBe('10.0.0.1');
  const helper = (given: Parameters<typeof connectHost>[0]) => connectHost(given);
  const other = connectHost;
  for (const attempt of [
    // @ts-expect-error A URL is not a request.
    () => connectHost(url),
    // @ts-expect-error A request without the rule is not permitted.
    () => connectHost({ to: { url }, request: {} }),
    // @ts-expect-error The function under another name has the same type.
    () => other({ to: { url }, request: {} }),
    // @ts-expect-error A helper has the type of the function.
    () => helper({ to: { url }, request: {} }),
    // @ts-expect-error The rule may return a problem.
    () => connectHost(permitRequest({ to: { url }, request: secret }, {})),
    // @ts-expect-error A bound function keeps the type.
    () => connectHost.bind(undefined)({ to: { url }, request: {} }),
    // @ts-expect-error An array is not a request.
    () => [{ to: { url }, request: {} }].map(connectHost),
    () => connectHost({ ...permitted }),
    () => connectHost({ ...permitted, to: { url: new URL('http://10.0.0.2/') } }),
    () => connectHost(Object.create(permitted)),
    () => connectHost(structuredClone({ request: {} }) as typeof permitted),
    () => Reflect.apply(connectHost, undefined, [{ to: { url }, request: {} }]),
  ])
    expect(attempt).toThrow(TypeError);
});

/** Files that use modules of the network: [uses, calls of connectHost]. Another number needs a reason here. */
const connections: Readonly<Record<string, readonly [number, number]>> = {
  // Only servers.
  'platform/node/listen.ts': [3, 0],
  // Only whether the own server listens; sends nothing.
  'platform/node/network.ts': [1, 0],
  // A connection for each scheme, and a check whether a name is an address.
  'platform/node/http1.ts': [3, 2],
  // A connection, a check of a name, and a constant.
  'platform/node/http2.ts': [3, 1],
  // The module of TLS by name and its type, for the certificates of the system.
  'platform/node/transport.ts': [2, 0],
  // The agent of a proxy.
  'platform/node/proxy-transport.ts': [1, 0],
  // Reads a descriptor of the shell, and connects to nothing.
  'platform/node/files.ts': [1, 0],
  // A server, a connection for each scheme, and a check of a name.
  'platform/node/ports.ts': [4, 2],
};
const networkModule = /^(?:node:)?(?:https?|http2|net|tls|dgram|dns|inspector|undici)(?:\/|$)/;
const globals = /^(?:fetch|WebSocket|WebSocketStream|EventSource|XMLHttpRequest|globalThis|global)$/;
const isName = (node: Node, parent: Node | undefined): boolean =>
  (parent?.type === 'MemberExpression' && parent['property'] === node && !parent['computed']) ||
  (/^(Property|MethodDefinition|TSPropertySignature|TSModuleDeclaration)$/.test(parent?.type ?? '') &&
    (parent?.['key'] ?? parent?.['id']) === node &&
    parent?.['shorthand'] !== true);
/** Returns the places where a source reaches the network without the Host: modules by import or by name, and globals. */
const networkUses = (source: string): string[] => {
  const found: string[] = [];
  walk(parseSource(source), (node, parent) => {
    const add = (): void => void found.push(source.slice(node.start, node.end));
    if (node.type === 'ImportDeclaration' && node['importKind'] !== 'type') {
      const isUsed = node['specifiers'].some((one: Node) => one['importKind'] !== 'type');
      if (isUsed && networkModule.test(node['source'].value)) add();
    } else if (node.type === 'ImportExpression' && networkModule.test(String(node['source'].value))) add();
    else if (node.type === 'CallExpression' && networkModule.test(String(node['arguments'][0]?.value))) {
      if (/(?:require|getBuiltinModule)$/.test(source.slice(node['callee'].start, node['callee'].end))) add();
    } else if (node.type !== 'Identifier' || isName(node, parent)) return;
    else if (globals.test(node['name'])) add();
    else if (node['name'] === 'builtin' && !/^Import|^Export|^VariableDeclarator$/.test(parent?.type ?? '')) {
      const property = parent?.type === 'MemberExpression' && parent['object'] === node && parent['property'];
      const isTyped = parent?.type === 'TSTypeQuery';
      if (!isTyped && (!property || parent?.['computed'] || networkModule.test(property.name))) add();
    } else if (node['name'] === 'builtin' && parent?.type === 'VariableDeclarator' && parent['init'] === node)
      add();
  });
  return found;
};
test('every connection of the network layer uses the host of connectHost', () => {
  const found = readSources()
    .filter(([name]) => name !== 'platform/node/builtin.ts')
    .flatMap(([name, text]) => {
      const uses = networkUses(text).length;
      return uses === 0 ? [] : [[name, [uses, [...text.matchAll(/\bconnectHost\(/g)].length]] as const];
    });
  expect(Object.fromEntries(found)).toEqual(connections);
});
test.each([
  'await fetch(url);',
  'await globalThis.fetch(url);',
  "await globalThis['fetch'](url);",
  'const send = fetch; await send(url);',
  'const { fetch: send } = globalThis; await send(url);',
  'run({ fetch });',
  "import { connect } from 'node:tls'; connect({ host });",
  "import https from 'node:https'; https.get(url);",
  "const { request } = await import('node:https'); request(url);",
  "const { request } = process.getBuiltinModule('node:https'); request(url);",
  "require('node:net').connect(port, host);",
  'const { https } = builtin; https.request(url);',
  "builtin['https'].request(url);",
  'const modules = builtin; modules.https.request(url);',
  'const { request } = builtin.https; request(url);',
  'new WebSocket(url);',
])('a connection outside of the network layer is found in %s', (source) => {
  expect(networkUses(source).length).toBeGreaterThan(0);
});
test.each([
  'host.network.fetch(url);',
  "import type { Socket } from 'node:net';",
  'builtin.crypto.hash(text);',
])('no connection is found in %s', (source) => {
  expect(networkUses(source)).toEqual([]);
});

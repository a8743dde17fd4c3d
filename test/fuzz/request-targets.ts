/** Requests to the services of the mock server and of the simulated store, webhook events, and messages of an MCP client. */
import { framesOf } from '../../src/etcd-sim/gateway/client-handler.ts';
import { requestIn } from '../../src/etcd-sim/gateway/rpc.ts';
import {
  defaultOptions,
  makeEnvironment,
  type Environment,
  type MockService,
} from '../../src/mock-server/service-set.ts';
import { makeLabels } from '../../src/mock-server/labels/service.ts';
import { makeAuth } from '../../src/mock-server/oauth/service.ts';
import { Store } from '../../src/mock-server/store.ts';
import { makeTracker } from '../../src/mock-server/tracker/service.ts';
import { readEvent } from '../../src/tracker/webhooks.ts';
import { fakeHost } from '../support/fake-host.ts';
import { type Target, drained, inWords, pieces, program, text } from './target.ts';

const ORIGIN = 'http://127.0.0.1:9';
const kept = new Map<string, MockService>();
/** A service with the demo data. The service keeps the changes of a request for the next request, as a server does. */
const service = (name: string, make: (env: Environment) => MockService): MockService => {
  const found = kept.get(name);
  if (found !== undefined) return found;
  const store = new Store();
  const { env, listensAt } = makeEnvironment(
    fakeHost(),
    store,
    { ...defaultOptions, ratePerMinute: undefined, trackerToken: 't' },
    'seed',
  );
  listensAt(ORIGIN);
  const made = make(env);
  store.transact(() => made.seed('demo'));
  kept.set(name, made);
  return made;
};

/** `METHOD path?query`, header lines, an empty line and the body. A service responds or rejects the request; it never fails. */
const send = async (
  to: MockService,
  input: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<void> => {
  const end = input.indexOf('\n\n');
  const [first = '', ...lines] = (end < 0 ? input : input.subarray(0, end)).toString('latin1').split('\n');
  const [method = 'GET', target = '/'] = first.split(' ');
  const [path = '/', query = ''] = target.split('?');
  const given = lines.flatMap((line) => {
    const at = line.indexOf(':');
    return at < 1 ? [] : [[line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]];
  });
  const { status, body } = await to.handle({
    method,
    path: path.startsWith('/') ? path : `/${path}`,
    query,
    headers: {
      host: '127.0.0.1:9',
      'content-type': 'application/json',
      ...headers,
      ...Object.fromEntries(given),
    },
    body: end < 0 ? new Uint8Array(0) : input.subarray(end + 2),
    remoteAddress: '127.0.0.1',
    isTls: false,
  });
  if (status >= 500 && status !== 501) throw new Error(`${first}: ${status} ${String(body).slice(0, 200)}`);
};
const form = 'content-type: application/x-www-form-urlencoded';

export const requestTargets: readonly Target[] = [
  {
    name: 'tracker requests',
    seeds: [
      'POST /api/v3/labels\n\n{"name":"x","color":"#aa0000"}',
      'PUT /api/v3/stories/1\n\n{"name":"x","labels":[{"name":"y"}],"estimate":3}',
      'POST /api/v3/stories/search\n\n{"archived":false,"page_size":5}',
      'GET /api/v3/search/stories?query=is:started%20label:"a"&page_size=2',
      'PUT /api/v3/stories/bulk\n\n{"story_ids":[1],"archived":true}',
      'POST /api/v3/epics\n\n{"name":"e","labels":[]}',
      'DELETE /api/v3/labels/5',
      'POST /api/v3/integrations/webhook\n\n{"webhook_url":"http://127.0.0.1:1/"}',
    ],
    run: (input) => send(service('tracker', makeTracker), input, { 'tracker-token': 't' }),
  },
  {
    name: 'uploads',
    seeds: [
      'POST /api/v3/files\ncontent-type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; name="file0"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name="story_id"\r\n\r\n5\r\n--b--\r\n',
    ],
    run: (input) => send(service('tracker', makeTracker), input, { 'tracker-token': 't' }),
  },
  {
    name: 'label requests',
    seeds: [
      'POST /v2beta/labels?useAdminAccess=true\n\n{"labelType":"SHARED","properties":{"title":"A"},"fields":[{"properties":{"displayName":"F"},"selectionOptions":{"choices":[{"properties":{"displayName":"C"}}]}}]}',
      'GET /v2beta/labels?view=LABEL_VIEW_FULL&pageSize=2',
      'POST /v2beta/labels/a:delta\n\n{"requests":[{"createField":{"field":{"properties":{"displayName":"x"},"textOptions":{}}}},{"updateLabel":{"properties":{"title":"y"},"updateMask":"title"}}]}',
      'POST /v2beta/labels/a:publish\n\n{}',
      'POST /v2beta/labels/a/permissions:batchUpdate\n\n{"requests":[{"parent":"labels/a","labelPermission":{"email":"a@b.c","role":"READER"}}]}',
      'PATCH /v2beta/labels/a/permissions\n\n{"person":"people/1","role":"EDITOR"}',
    ],
    run: (input) => send(service('labels', makeLabels), input, { authorization: 'Bearer t' }),
  },
  {
    name: 'batch of labels',
    seeds: [
      'POST /batch/labels/v2beta\ncontent-type: multipart/mixed; boundary=b\n\n--b\r\nContent-Type: application/http\r\nContent-ID: <1>\r\n\r\nGET /v2beta/labels/a HTTP/1.1\r\n\r\n--b\r\nContent-Type: application/http\r\n\r\nPOST /v2beta/labels HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{"labelType":"SHARED"}\r\n--b--\r\n',
    ],
    run: (input) => send(service('labels', makeLabels), input, { authorization: 'Bearer t' }),
  },
  {
    name: 'sign-in requests',
    seeds: [
      `POST /token\n${form}\n\ngrant_type=authorization_code&code=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F&client_id=c&code_verifier=${'v'.repeat(43)}`,
      `POST /token\n${form}\n\ngrant_type=refresh_token&refresh_token=r&client_id=c`,
      `POST /token\n${form}\n\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c`,
      `POST /token\n${form}\n\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=eyJhIjoxfQ.eyJpc3MiOiJ4In0.AA&subject_token_type=x`,
      'GET /o/oauth2/v2/auth?client_id=417000000001-demodesktop000000000000000000000.apps.opsctl.example&redirect_uri=http://127.0.0.1:1/&response_type=code&scope=openid%20email&code_challenge=a&code_challenge_method=S256&state=s&nonce=n&prompt=consent',
      `POST /revoke\n${form}\n\ntoken=t`,
      `POST /device/code\n${form}\n\nclient_id=c&scope=openid`,
      'GET /.well-known/openid-configuration',
      'POST /console/events/subscriptions\n\n{"client":"c","receiver":"http://127.0.0.1:1/"}',
      `POST /console/clients\n${form}\n\nname=x&type=desktop`,
    ],
    run: (input) => send(service('auth', makeAuth), input, {}),
  },
  {
    name: 'store requests',
    seeds: ['{"key":"YQ==","limit":"5","sort_order":"ASCEND"}', '{"a":1e400,"b":[{"c":"\\u0000"}]}', '5'],
    run: (input) => inWords(() => requestIn(text(input), false)),
  },
  {
    name: 'store frames',
    seeds: [Buffer.from('00000000030a0161', 'hex')],
    run: (input) => inWords(() => drained(framesOf(pieces(input), 1024 * 1024))),
  },
  {
    name: 'webhook event',
    seeds: ['{"id":"a","actions":[{"id":1,"entity_type":"story","action":"update"}]}'],
    run: (input) => readEvent(input, undefined, undefined),
  },
  {
    name: 'tool messages',
    seeds: [
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"config_list","arguments":{}}}\n',
    ],
    run: (input) => program(['mcp'], {}, { stdin: text(input) }),
  },
];

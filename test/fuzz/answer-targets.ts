/** Responses of servers, other programs and the user's shell. The program must trust none of them. */
import { readKeyFile } from '../../src/auth/read-secret.ts';
import { verdictOfPaste } from '../../src/auth/methods/paste.ts';
import { deviceAuthorization } from '../../src/auth/methods/device.ts';
import { gitRequest, hostOf, kubeVersion } from '../../src/auth/programs/credential-protocols.ts';
import { jwtView } from '../../src/auth/sign-jwt.ts';
import { metadataFrom, readIssuer } from '../../src/auth/protocol/discovery.ts';
import { processTokenResponse } from '../../src/auth/protocol/token-response.ts';
import { JsonRows } from '../../src/api/list-rows.ts';
import { decode } from '../../src/core/protobuf.ts';
import { grpcMessages } from '../../src/kv/client/messages.ts';
import { bytesField, numberField } from '../../src/core/protobuf.ts';
import { jsonObjects } from '../../src/kv/client/watch.ts';
import { etcdMethods } from '../../src/api-specs/etcd/messages.ts';
import { containerState } from '../../src/kv/upgrade/supervisors/docker.ts';
import { crictlState } from '../../src/kv/upgrade/supervisors/static-pod.ts';
import { impactOf } from '../../src/kv/upgrade/window/window.ts';
import { Answer } from '../../src/platform/node/http1-answer.ts';
import { fakeHost } from '../support/fake-host.ts';
import { type Target, drained, inWords, pieces, program, signIn, text } from './target.ts';

const idToken = `${[
  { alg: 'RS256', kid: 'a' },
  { iss: 'http://127.0.0.1:1', aud: 'c', sub: 's', iat: 1767323045, exp: 9e9, nonce: 'n' },
]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.')}.AAAA`;
const metadata =
  '{"issuer":"http://127.0.0.1:1","authorization_endpoint":"http://127.0.0.1:1/a","token_endpoint":"http://127.0.0.1:1/t","jwks_uri":"http://127.0.0.1:1/k","revocation_endpoint":"http://127.0.0.1:1/r","device_authorization_endpoint":"http://127.0.0.1:1/d","token_endpoint_auth_methods_supported":["none"],"authorization_response_iss_parameter_supported":true}';
const endpoints = {
  authorize: 'http://127.0.0.1:1/a',
  token: 'http://127.0.0.1:1/t',
  revoke: 'http://127.0.0.1:1/r',
};
const json = { 'content-type': 'application/json' };
/** Runs the program against a service that returns this body to every request. */
const answered = (argv: readonly string[], input: Buffer): Promise<void> =>
  program(argv, {}, { reply: () => ({ status: 200, headers: json, body: text(input) }) });
/** The answers of a service by path. Each other request gets the input. */
const answeredExcept = (
  argv: readonly string[],
  fixed: Readonly<Record<string, unknown>>,
  input: Buffer,
  files: Readonly<Record<string, string>> = {},
): Promise<void> =>
  program(argv, files, {
    reply: ({ url }) => {
      const { pathname } = new URL(url);
      const known = Object.keys(fixed).find((end) => pathname.endsWith(end));
      const body = known === undefined ? text(input) : JSON.stringify(fixed[known]);
      return { status: 200, headers: json, body };
    },
  });
const parsed = (input: Buffer): unknown => {
  try {
    return JSON.parse(text(input));
  } catch {
    return text(input);
  }
};
const status =
  '{"header":{"cluster_id":"1","member_id":"2","revision":"3","raft_term":"4"},"version":"3.5.0","dbSize":"20480","leader":"2","raftIndex":"9","raftTerm":"4","kvs":[{"key":"YQ==","value":"Yg==","mod_revision":"3","create_revision":"3","version":"1"}],"count":"1","members":[{"ID":"2","name":"n1","peerURLs":["http://a:1"],"clientURLs":["http://a:2"]}],"alarms":[{"memberID":"2","alarm":"NOSPACE"}]}';

export const answerTargets: readonly Target[] = [
  {
    name: 'issuer',
    seeds: [metadata],
    run: (input) =>
      readIssuer(
        signIn({}, () => ({ headers: json, body: text(input) })),
        'http://127.0.0.1:1',
      ),
  },
  { name: 'discovery', seeds: [metadata], run: (input) => metadataFrom(parsed(input), endpoints) },
  {
    name: 'token answer',
    seeds: [
      `{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"openid","id_token":"${idToken}"}`,
      '{"access_token":"a","token_type":"bearer"}',
      '{"error":"invalid_grant","error_description":"d"}',
    ],
    run: async (input) => {
      const client = { clientId: 'c', endpoints, clientAuth: 'none', jwksUri: 'http://127.0.0.1:1/k' };
      const read = { status: 200, headers: json, text: text(input) };
      const checks = [{ kind: 'exchange', nonce: 'n' }, { kind: 'refresh' }] as const;
      for (const check of checks) await processTokenResponse('t', client as never, read, check, fakeHost());
    },
  },
  {
    name: 'device answer',
    seeds: [
      '{"device_code":"d","user_code":"u","verification_uri":"http://a","verification_uri_complete":"http://a?x","expires_in":600,"interval":5}',
    ],
    run: (input) => deviceAuthorization(parsed(input)),
  },
  {
    name: 'pasted line',
    seeds: ['http://127.0.0.1:1/?code=a&state=s', 'code=a&state=s', '#code=a&state=s', 'abc'],
    run: (input) => verdictOfPaste(text(input), { state: 's' }),
  },
  {
    name: 'key in a variable',
    seeds: ['{"client_email":"a"}'],
    run: (input) => readKeyFile(signIn(), text(input), 'X'),
  },
  { name: 'token to look at', seeds: [idToken, 'a.b.c'], run: (input) => jwtView(text(input), 5) },
  {
    name: 'credential request',
    seeds: [
      'protocol=https\nhost=a.example\n',
      '{"apiVersion":"client.authentication.k8s.io/v1"}',
      '[::1]:80',
    ],
    run: (input) => {
      hostOf(gitRequest(text(input)).host ?? text(input));
      kubeVersion(text(input));
    },
  },
  {
    name: 'tracker list',
    seeds: [
      '[{"id":5,"name":"bug","color":null,"stats":{"num":1}}]',
      '{"data":[],"next":"/x?next=2","total":0}',
    ],
    run: (input) => answered(['tracker', 'labels', 'list', '--columns', 'name,color'], input),
  },
  {
    name: 'tracker record',
    seeds: ['{"id":5,"name":"bug","app_url":"http://a"}', '{"message":"m","errors":{"name":"x"}}'],
    run: (input) => answered(['tracker', 'labels', 'create', '--name', 'x'], input),
  },
  {
    name: 'tracker search',
    seeds: ['{"data":[{"id":1,"name":"a"}],"next":"/api/v3/search/stories?query=a&next=b","total":2}'],
    run: (input) => answered(['tracker', 'search', 'stories', 'a'], input),
  },
  {
    name: 'label list',
    seeds: [
      '{"labels":[{"name":"labels/a","id":"a","revisionId":"1","labelType":"ADMIN","properties":{"title":"A"},"fields":[{"id":"f","properties":{"displayName":"F"},"selectionOptions":{"choices":[{"id":"c","properties":{"displayName":"C"}}]}}]}],"nextPageToken":"t"}',
    ],
    run: (input) => answered(['labels', 'export', '--all'], input),
  },
  {
    name: 'workflows',
    seeds: [
      '[{"id":9,"name":"w","states":[{"id":1,"name":"Later","type":"unstarted"},{"id":2,"name":"Now","type":"started"}]}]',
    ],
    run: async (input) => {
      const story = { id: 5, name: 's', workflow_id: 9, workflow_state_id: 1, story_type: 'bug' };
      await answeredExcept(['tracker', 'stories', 'move', '5', 'now'], { '/stories/5': story }, input);
      await answeredExcept(['tracker', 'bulk', '-f', '/a.csv', '--from', 'jira', '--dry-run'], {}, input, {
        '/a.csv': 'Summary,Issue key,Issue Type,Status\na,K-1,Bug,In Progress\n',
      });
    },
  },
  {
    name: 'story',
    seeds: [
      '{"id":5,"name":"s","story_type":"bug","workflow_state_id":1,"owner_ids":["a"],"labels":[{"id":1,"name":"l"}],"tasks":[{"id":1,"description":"t","complete":false,"owner_ids":[]}],"comments":[{"id":1,"text":"c","author_id":"a","created_at":"2026-01-01T00:00:00Z"}],"story_links":[{"id":1,"verb":"blocks","object_id":6,"subject_id":5}],"external_links":["http://a"],"stats":{"num_related_documents":0},"custom_fields":[{"field_id":"f","value_id":"v"}]}',
    ],
    run: async (input) => {
      for (const words of [
        ['get', '5'],
        ['start', '5'],
        ['clone', '5', '--dry-run'],
      ])
        await answeredExcept(['tracker', 'stories', ...words], { '/workflows': [] }, input);
    },
  },
  {
    name: 'workspace answers',
    seeds: [
      '[{"id":5,"name":"a","color":"#112233","archived":false,"external_id":"x","labels":[{"id":1,"name":"l"}],"values":[{"id":"v","value":"V"}],"states":[{"id":1,"name":"Later"}],"story_template":{"labels":[{"id":1}]}}]',
    ],
    run: (input) =>
      answeredExcept(
        ['tracker', 'diff', '-f', '/w.yaml'],
        { '/epic-workflow': { id: 1, epic_states: [] } },
        input,
        { '/w.yaml': 'labels:\n  - name: a\n    color: "#445566"\nepics:\n  - name: a\n    labels: [l]\n' },
      ),
  },
  {
    name: 'epic workflow',
    seeds: ['{"id":1,"default_epic_state_id":2,"epic_states":[{"id":2,"name":"Later","type":"unstarted"}]}'],
    run: (input) =>
      answeredExcept(
        ['tracker', 'diff', '-f', '/w.yaml'],
        { '/epics': [], '/labels': [], '/groups': [], '/objectives': [] },
        input,
        { '/w.yaml': 'epics:\n  - name: a\n    state: Later\n' },
      ),
  },
  {
    name: 'label permissions',
    seeds: [
      '{"labelPermissions":[{"name":"labels/a/permissions/1","email":"a@example.com","role":"READER"}],"nextPageToken":""}',
    ],
    run: async (input) => {
      const label = { name: 'labels/a', id: 'a', labelType: 'ADMIN', properties: { title: 'A' } };
      const labels = { '/labels': { labels: [label] }, '/labels/a': label };
      await answeredExcept(['labels', 'permissions', 'export'], labels, input);
      await answeredExcept(['labels', 'export', '--all'], labels, input);
    },
  },
  {
    name: 'label record',
    seeds: [
      '{"name":"labels/a","id":"a","properties":{"title":"A"}}',
      '{"error":{"code":400,"message":"m","status":"X","details":[{}]}}',
    ],
    run: (input) => answered(['labels', 'get', 'a'], input),
  },
  {
    name: 'store',
    seeds: [status, '{"error":"e","code":5,"message":"m"}'],
    run: async (input) => {
      const at = ['--endpoints', 'http://127.0.0.1:9'];
      for (const words of [
        ['kv', 'get', 'a'],
        ['kv', 'put', 'a', 'b'],
        ['kv', 'member', 'list'],
        ['kv', 'status'],
        ['kv', 'endpoint', 'status'],
        ['kv', 'alarm', 'list'],
        ['kv', 'lease', 'list'],
      ])
        await answered([...words, ...at], input);
    },
  },
  {
    name: 'raw answer',
    seeds: ['{"a":[1,{"b":null}]}', '<html>'],
    run: (input) => answered(['api', 'GET', '/api/v3/labels', '-o', 'yaml'], input),
  },
  {
    name: 'media refusal',
    seeds: [
      '{"error":{"code":403,"message":"insufficient scope","status":"X"}}',
      '{"error":"e","error_description":"d"}',
    ],
    run: (input) =>
      program(
        ['media', 'get', '/v1/x'],
        {},
        { reply: () => ({ status: 403, headers: json, body: text(input) }) },
      ),
  },
  {
    name: 'streamed rows',
    seeds: ['[{"a":"\\u0041\\"]"},5,[null]]', '{"data":[1,2],"next":null}', '{"x":{"y":[1]}}'],
    run: (input) => {
      const rows = new JsonRows('GET /x');
      for (let from = 0; from < input.length; from += 7)
        Array.from(rows.push(input.subarray(from, from + 7)));
      rows.end();
    },
  },
  {
    name: 'streamed objects',
    seeds: ['{"result":{"events":[]}}\n{"result":{"a":"}"}}'],
    run: (input) => inWords(() => drained(jsonObjects(pieces(input)))),
  },
  {
    name: 'message frames',
    seeds: [Buffer.from('000000000508021a0161', 'hex'), Buffer.from('0000000002080100000000021001', 'hex')],
    run: (input) =>
      inWords(async () => {
        for await (const message of grpcMessages(pieces(input)))
          [bytesField(message, 3), numberField(message, 1)];
      }),
  },
  {
    name: 'messages',
    seeds: [Buffer.from('0a016112016230053a02080a', 'hex'), Buffer.from('08051a040a020101', 'hex')],
    run: async (input) => {
      for (const { request, response } of Object.values(etcdMethods))
        for (const shape of [request, response]) await inWords(() => decode(shape, input));
    },
  },
  {
    name: 'whole answer',
    seeds: [
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
    run: (input) => {
      const answer = new Answer('GET', undefined as never);
      answer.reply.catch(() => undefined);
      for (let from = 0; from < input.length; from += 31) answer.push(input.subarray(from, from + 31));
    },
  },
  {
    name: 'impact',
    seeds: [
      '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"alertname":"a"},"value":[1,"1"]}]}}',
      '{"status":"success","data":{"resultType":"scalar","result":[1,"0"]}}',
    ],
    run: (input) => impactOf(200, text(input)),
  },
  {
    name: 'containers',
    seeds: [
      'abc\trunning\t2026-01-01T00:00:00Z',
      '{"containers":[{"id":"a","state":"CONTAINER_RUNNING","createdAt":"5","labels":{"io.kubernetes.pod.name":"etcd-n1"}}]}',
    ],
    run: (input) => {
      containerState(text(input), 'n1');
      crictlState(text(input), { name: 'etcd', sinceMs: 0 } as never);
    },
  },
];

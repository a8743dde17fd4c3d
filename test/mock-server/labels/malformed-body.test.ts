import { expect, test } from 'vitest';
import { makeLabels } from '../../../src/mock-server/labels/service.ts';
import { defaultOptions, makeEnvironment, type MockReply } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { fakeHost } from '../../support/fake-host.ts';

/** Creates a label with the given bytes as the body of the request. */
const create = (body: Uint8Array) => {
  const store = new Store();
  const { env, listensAt } = makeEnvironment(fakeHost(), store, defaultOptions, 'seed');
  listensAt('https://labels.example');
  const service = makeLabels(env);
  store.transact(() => service.seed('empty'));
  const reply = service.handle({
    ...{ method: 'POST', path: '/v2beta/labels', query: '', remoteAddress: '127.0.0.1', isTls: true },
    headers: { authorization: 'Bearer any-token', 'content-type': 'application/json' },
    body,
  }) as MockReply;
  return { status: reply.status, error: JSON.parse(String(reply.body)).error };
};
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

test.each([
  ['cut JSON', utf8('{"labelType":'), 'Invalid JSON payload received. '],
  ['bytes that are not UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 'Invalid JSON payload received. '],
])('a request with %s is rejected as malformed', (_, body, message) => {
  const { status, error } = create(body);
  expect([status, error.status]).toEqual([400, 'INVALID_ARGUMENT']);
  expect(error.message.startsWith(message)).toBe(true);
  expect(JSON.stringify(error.details)).toContain('MALFORMED_JSON');
});
test('a list in place of an object is rejected with another message', () => {
  const [cut, list] = [create(utf8('{')), create(utf8('[]'))];
  expect([list.status, JSON.stringify(list.error.details).includes('MALFORMED_JSON')]).toEqual([400, true]);
  expect(list.error.message).not.toBe(cut.error.message);
});

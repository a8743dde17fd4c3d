/** spec/sign-in#redirect-3: every pair of client type and redirect form, with raw requests. */
import { beforeAll, describe, expect, test } from 'vitest';
import { clientTypes } from '../../src/api-specs/oauth/console-records.ts';
import { covers } from '../support/covers.ts';
import { type AuthServer, ask, authServer, control, pageError } from '../support/auth-server.ts';

const forms = {
  'loopback IPv4': 'http://127.0.0.1:5555',
  'loopback IPv6': 'http://[::1]:5555',
  'loopback name': 'http://localhost:5555',
  'custom scheme': 'com.example.pair:/cb',
  'custom scheme of 39 characters': `com.example.${'a'.repeat(27)}:/cb`,
  'custom scheme of 40 characters': `com.example.${'a'.repeat(28)}:/cb`,
  'custom scheme without a period': 'example:/cb',
  'https of its item': 'https://pairitem.extensions.opsctl.example/cb',
  'https of another host': 'https://other.example/cb',
  'out of band': 'urn:ietf:wg:oauth:2.0:oob',
} as const;
type Form = keyof typeof forms;
const custom = [forms['custom scheme'], forms['custom scheme of 39 characters']];
const bodies = {
  'mobile-a': {
    package_name: 'com.example.pair',
    fingerprint: '3F:0B:5C:7A:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00',
    custom_uri_scheme: true,
    redirect_uris: [...custom, forms['custom scheme of 40 characters']],
  },
  'mobile-b': {
    bundle_id: 'com.example.pair',
    redirect_uris: [...custom, forms['custom scheme of 40 characters']],
  },
  'universal-desktop': { store_id: '9NBLGGH4NNS1', redirect_uris: custom },
  desktop: {},
  'browser-extension': { item_id: 'pairitem' },
} as const;

const page = 'sign-in page';
const mismatch = 'redirect_uri_mismatch';
const invalid = 'invalid_request';
const mobile: Record<Form, string> = {
  'loopback IPv4': mismatch,
  'loopback IPv6': mismatch,
  'loopback name': mismatch,
  'custom scheme': page,
  'custom scheme of 39 characters': page,
  'custom scheme of 40 characters': page,
  'custom scheme without a period': invalid,
  'https of its item': mismatch,
  'https of another host': mismatch,
  'out of band': mismatch,
};
const noScheme = {
  'custom scheme': mismatch,
  'custom scheme of 39 characters': mismatch,
  'custom scheme of 40 characters': mismatch,
};
const expected: Record<(typeof clientTypes)[number], Record<Form, string>> = {
  'mobile-a': mobile,
  'mobile-b': mobile,
  'universal-desktop': { ...mobile, 'custom scheme of 40 characters': invalid },
  desktop: { ...mobile, ...noScheme, 'loopback IPv4': page, 'loopback IPv6': page },
  'browser-extension': { ...mobile, ...noScheme, 'https of its item': page },
};

let server: AuthServer;
const made: Record<string, string> = {};
beforeAll(async () => {
  server = await authServer();
  for (const type of clientTypes) {
    const { status, json } = await control(server, 'POST', '/clients', { type, name: type, ...bodies[type] });
    expect([type, status]).toEqual([type, 201]);
    made[type] = json.id;
  }
});

const answer = async (client_id: string | undefined, redirect_uri: string): Promise<string> => {
  const reply = await ask(server, { client_id, redirect_uri });
  expect(reply.headers['location']).toBeUndefined();
  if (reply.status === 200 && reply.text.includes('<title>Sign in</title>')) return page;
  return pageError(reply);
};

describe.each(clientTypes)('a client of the type %s', (type) => {
  test.each(Object.entries(forms))(
    'a client of this type has the redirect form "%s"',
    covers('spec/sign-in#redirect-3'),
    async (name, uri) => {
      expect(await answer(made[type], uri)).toBe(expected[type][name as Form]);
    },
  );
  test.each(['http://127.0.0.1/cb', 'http://[::1]/cb'])('registers %s only if it may use it', async (uri) => {
    const own = { ...bodies[type], redirect_uris: [uri] };
    const { status } = await control(server, 'POST', '/clients', { type, name: 'registers', ...own });
    expect(status).toBe(type === 'desktop' ? 201 : 400);
  });
});

test(
  'mobile A without the advanced setting: invalid_request for its custom scheme',
  covers('spec/sign-in#redirect-3'),
  async () => {
    const body = { ...bodies['mobile-a'], custom_uri_scheme: false };
    const { json } = await control(server, 'POST', '/clients', { type: 'mobile-a', name: 'off', ...body });
    expect(await answer(json.id, forms['custom scheme'])).toBe(invalid);
  },
);

import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeConsolePage, makeControlApi } from '../../../src/mock-server/oauth/console/console-page.ts';
import { makeAuth } from '../../../src/mock-server/oauth/service.ts';
import { type Auth, authState, type Delivery } from '../../../src/mock-server/oauth/state.ts';
import {
  defaultOptions,
  makeEnvironment,
  type MockReply,
  type MockRequest,
} from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { fakeHost } from '../../support/fake-host.ts';

const client = '417000000001-demodesktop000000000000000000000.apps.opsctl.example';
const user = '100001000000000000001';
let auth: Auth;
let ask: (more?: Partial<MockRequest>) => Promise<{ status: number; html: string }>;
beforeEach(() => {
  const { env, listensAt } = makeEnvironment(fakeHost(), new Store(), defaultOptions, 'seed');
  listensAt('http://127.0.0.1:1');
  env.store.transact(() => makeAuth(env).seed('demo'));
  auth = authState(env);
  const page = makeConsolePage(auth, makeControlApi(auth));
  ask = async (more = {}) => {
    const reply: MockReply = await page({
      ...{ method: 'GET', path: '/__opsctl/oauth/console', query: '', headers: {}, isTls: false },
      ...{ body: new Uint8Array(), remoteAddress: '127.0.0.1', ...more },
    });
    return { status: reply.status, html: String(reply.body) };
  };
});
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
/** The texts of the cells of each row below a heading. */
const rowsOf = (html: string, section: string): string[][] => {
  const [, after = ''] = html.split(`<h2 id="${section}">`);
  const [own = ''] = after.split('<h2 ');
  return [...own.matchAll(/<tr>(.*?)<\/tr>/gs)]
    .map(([, row = '']) => [...row.matchAll(/<td>(.*?)<\/td>/gs)].map(([, cell = '']) => textOf(cell)))
    .filter((cells) => cells.length > 0);
};
const change = (act: () => unknown) => auth.env.store.transact(act);
const noticeIn = (html: string): string =>
  textOf(/<p class="[^"]*" role="[^"]*">.*?<\/p>/s.exec(html)?.[0] ?? '');

describe('the rows of the developer console', () => {
  it('grants and events show the names of their records, and the IDs of records that are gone', async () => {
    const scopes = ['a', 'b'];
    const delivery: Omit<Delivery, 'id' | 'client'> = {
      type: 'tokens-revoked',
      state: 'failed',
      ...{ attempts: 2, subscription: 's', url: '', body: '' },
      ...{ last_status: null, last_error: null, created_at: 0, done_at: null },
    };
    change(() => {
      auth.grants.put('1', { id: '1', user, client, scopes, granted_at: 0 });
      auth.grants.put('2', { id: '2', user: 'gone-user', client: 'gone-client', scopes, granted_at: 0 });
      auth.deliveries.put('1', { ...delivery, id: '1', client });
      auth.deliveries.put('2', { ...delivery, id: '2', client: 'gone-client' });
    });
    const { html } = await ask();
    const name = auth.clients.get(client)?.name;
    const email = auth.users.get(user)?.email;
    expect([name, email].includes(undefined)).toBe(false);
    expect(rowsOf(html, 'grants')).toEqual([
      [email, name, 'a b', 'Remove'],
      ['gone-user', 'gone-client', 'a b', 'Remove'],
    ]);
    expect(rowsOf(html, 'events')).toEqual([
      ['tokens-revoked', name, 'failed', '2'],
      ['tokens-revoked', 'gone-client', 'failed', '2'],
    ]);
  });
  it('users, projects and clients show their optional values', async () => {
    change(() => {
      const known = auth.users.get(user);
      const app = auth.clients.get(client);
      if (known === undefined || app === undefined) throw new Error('the demo has changed');
      auth.users.put(user, { ...known, organization: 'org-1' });
      auth.users.put('2', { ...known, id: '2', organization: null });
      for (const project of auth.projects.values())
        auth.projects.put(project.id, { ...project, organization: 'org-2' });
      auth.clients.put(client, { ...app, verified_by: 'site-check' });
    });
    const { html } = await ask();
    const organizations = rowsOf(html, 'users').map(([, id, organization]) => [id, organization]);
    expect(organizations).toEqual(
      expect.arrayContaining([
        [user, 'org-1'],
        ['2', ''],
      ]),
    );
    expect(new Set(rowsOf(html, 'projects').map(([, organization]) => organization))).toEqual(
      new Set(['org-2']),
    );
    const verified = rowsOf(html, 'clients').map(([name = '', , , , by]) => [name.split(' ').at(-1), by]);
    expect(verified).toContainEqual([client, 'site-check']);
    expect(verified.some(([, by]) => by === 'no')).toBe(true);
  });
});

describe('a form of the developer console', () => {
  const submit = async (fields: Readonly<Record<string, string>>) => {
    const { html } = await ask();
    const proof = /name="proof" value="([^"]+)"/.exec(html)?.[1] ?? '';
    const body = Buffer.from(new URLSearchParams({ proof, ...fields }).toString());
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const reply = await ask({ method: 'POST', headers, body });
    return { ...reply, notice: noticeIn(reply.html) };
  };
  it('creates a record, and shows its name and its secret once', async () => {
    const project = [...auth.projects.values()][0]?.id ?? '';
    const name = `Web ${randomBytes(4).toString('hex')}`;
    const fields = { name, project, type: 'desktop' };
    const { status, html, notice } = await submit({ do: 'clients.create', ...fields });
    expect(status).toBe(200);
    const made = [...auth.clients.values()].find((one) => one.name === name);
    expect(made).toMatchObject({ project, type: 'desktop' });
    expect(notice).toContain(name);
    expect(notice).not.toContain(made?.id);
    expect(rowsOf(html, 'clients').some(([cell = '']) => cell.startsWith(name))).toBe(true);
  });
  it('changes the record that its row names, and shows the ID of a record without a name', async () => {
    change(() => auth.grants.put('1', { id: '1', user, client, scopes: ['a'], granted_at: 0 }));
    expect((await submit({ do: 'grants.delete', grant: '1' })).status).toBe(200);
    expect(auth.grants.get('1')).toBeUndefined();
  });
  it('names each wrong field of a refused form', async () => {
    const { status, notice } = await submit({
      do: 'clients.create',
      type: 'desktop',
      name: 'x',
      trust: 'wrong',
    });
    expect(status).toBe(400);
    expect(notice).toContain('trust');
  });
  it('without an action, or with a wrong proof, is refused', async () => {
    const statuses = [
      (await submit({})).status,
      (await submit({ do: 'clients.explode' })).status,
      (await submit({ do: 'grants.delete', grant: '1', proof: 'wrong' })).status,
    ];
    expect(statuses).toEqual([400, 400, 403]);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../src/core/operation.ts';
import { labelsService as service } from '../../src/api-specs/labels/labels.ts';
import { type Program, program } from '../support/built-program.ts';
// @ts-expect-error: a plain script, shared with the benches.
import { peers } from './install.mjs';

/**
 * A public third-party client of services of this kind, in two forms: generated code with a custom root URL and token, and a client
 * that builds itself from the served discovery document.
 */
const forms = {
  'the generated client': async (token: unknown, batched?: unknown) => {
    const api = peers()('googleapis/build/src/apis/drivelabels');
    const more = batched === undefined ? {} : { fetchImplementation: batched };
    return api.drivelabels({ version: 'v2beta', rootUrl: `${origin}/`, auth: token, ...more });
  },
  'the client made from the served discovery document': async (token: unknown, batched?: unknown) => {
    const { google } = peers()('googleapis');
    const more = batched === undefined ? {} : { fetchImplementation: batched };
    return google.discoverAPI(`${origin}/discovery/labels/v2beta`, { auth: token, ...more });
  },
} as const;
type Form = keyof typeof forms;

let home: Program;
let serving: ReturnType<Program['start']>;
let origin: string;
let client: any;
/** Method and path of every request to which the mock sent a success response, for each form of the client. */
const answered: Record<Form, Set<string>> = {
  'the generated client': new Set(),
  'the client made from the served discovery document': new Set(),
};
let form: Form;
const token = (): unknown => {
  const auth = new (peers()('googleapis/build/src/apis/drivelabels').auth.OAuth2)();
  auth.setCredentials({ access_token: 'any-token' });
  return auth;
};
beforeAll(async () => {
  peers();
  home = program();
  serving = home.start(['mock', 'serve', '--ephemeral', '--seed', 'demo', '-o', 'json']);
  origin = new URL((await serving.first).labels.base_url).origin;
});
afterAll(async () => {
  serving.kill('SIGTERM');
  await serving.ended;
});

const data = async (call: Promise<any>): Promise<any> => {
  const { data: body, config, request, status } = await call;
  const { pathname } = new URL(request?.responseURL ?? config.url);
  if (status === 200)
    answered[form].add(`${config.method} ${decodeURIComponent(pathname).replace('/v2beta', '')}`);
  return body;
};
const title = (text: string): any => ({ labelType: 'SHARED', properties: { title: text } });
const made = async (text = 'Contract'): Promise<any> =>
  data(client.labels.create({ requestBody: title(text), languageCode: 'en' }));

describe.each(Object.keys(forms) as Form[])('%s', (name) => {
  beforeAll(async () => {
    form = name;
    client = await forms[name](token());
  });
  test('the life of a label', async () => {
    const { id, name } = await made();
    const delta = await data(
      client.labels.delta({
        name,
        requestBody: {
          writeControl: { requiredRevisionId: '1' },
          view: 'LABEL_VIEW_FULL',
          requests: [
            {
              createField: {
                field: { properties: { displayName: 'Due' }, dateOptions: { dateFormatType: 'SHORT_DATE' } },
              },
            },
          ],
        },
      }),
    );
    expect(delta.updatedLabel.fields[0]).toMatchObject({
      id: delta.responses[0].createField.id,
      properties: { displayName: 'Due' },
    });
    expect(await data(client.labels.publish({ name, requestBody: {} }))).toMatchObject({
      id,
      revisionId: '3',
    });
    expect(
      (await data(client.labels.get({ name: `${name}@published`, view: 'LABEL_VIEW_FULL' }))).lifecycle.state,
    ).toBe('PUBLISHED');
    expect(await data(client.labels.get({ name, fields: 'id,properties/title' }))).toEqual({
      id,
      properties: { title: 'Contract' },
    });
    expect(
      await data(
        client.labels.disable({
          name,
          requestBody: { updateMask: 'showInApply', disabledPolicy: { showInApply: true } },
        }),
      ),
    ).toMatchObject({ id });
    expect(await data(client.labels.enable({ name }))).toMatchObject({ id });
    const copy = await data(
      client.labels.updateLabelCopyMode({
        name,
        requestBody: { copyMode: 'ALWAYS_COPY', view: 'LABEL_VIEW_FULL' },
      }),
    );
    expect(copy.appliedLabelPolicy.copyMode).toBe('ALWAYS_COPY');
    const enabledAppSettings = { enabledApps: [{ app: 'FILES' }] };
    const apps = await data(
      client.labels.updateLabelEnabledAppSettings({
        name,
        requestBody: { enabledAppSettings, view: 'LABEL_VIEW_FULL' },
      }),
    );
    expect(apps.enabledAppSettings).toEqual(enabledAppSettings);
    const { revisionId } = await data(client.labels.get({ name }));
    expect(
      await data(
        client.labels.delete({ name, 'writeControl.requiredRevisionId': revisionId, useAdminAccess: true }),
      ),
    ).toEqual({});
    await expect(client.labels.get({ name })).rejects.toMatchObject({ code: 404, status: 404 });
  });
  test('lists end with the page that has no token', async () => {
    for (const text of ['a b', 'ä/ö', '日本']) await made(text);
    const titles: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await data(
        client.labels.list({
          pageSize: 2,
          pageToken,
          view: 'LABEL_VIEW_BASIC',
          minimumRole: 'READER',
          publishedOnly: false,
        }),
      );
      titles.push(...page.labels.map((label: any) => label.properties.title));
      pageToken = page.nextPageToken;
    } while (pageToken);
    expect(titles.slice(-3)).toEqual(['a b', 'ä/ö', '日本']);
  });
  test.each(['labels', 'revisions'])('permissions and locks of %s', async (kind) => {
    const { name } = await made();
    const parent = kind === 'labels' ? name : `${name}/revisions/1`;
    const on = kind === 'labels' ? client.labels : client.labels.revisions;
    const first = await data(
      on.permissions.create({ parent, requestBody: { email: 'ana@example.com', role: 'READER' } }),
    );
    expect(first).toMatchObject({ email: 'ana@example.com', role: 'READER' });
    expect(
      await data(
        on.updatePermissions({ parent, requestBody: { email: 'ana@example.com', role: 'APPLIER' } }),
      ),
    ).toEqual({
      ...first,
      role: 'APPLIER',
    });
    const requests = [{ parent, labelPermission: { audience: 'audiences/default', role: 'READER' } }];
    const [second] = (await data(on.permissions.batchUpdate({ parent, requestBody: { requests } })))
      .permissions;
    expect((await data(on.permissions.list({ parent, pageSize: 200 }))).labelPermissions).toEqual(
      expect.arrayContaining([{ ...first, role: 'APPLIER' }, second]),
    );
    expect(
      await data(on.permissions.batchDelete({ parent, requestBody: { requests: [{ name: second.name }] } })),
    ).toEqual({});
    expect(await data(on.permissions.delete({ name: first.name }))).toEqual({});
    expect(await data(on.locks.list({ parent, pageSize: 10 }))).toEqual({ labelLocks: [] });
  });
  test('limits and capabilities', async () => {
    expect(await data(client.limits.getLabel({ name: 'limits/label' }))).toMatchObject({
      name: 'limits/label',
      maxFields: 10,
    });
    expect(await data(client.users.getCapabilities({ name: 'users/me/capabilities' }))).toMatchObject({
      canCreateSharedLabels: true,
    });
  });
  test('errors arrive as the client gives them', async () => {
    const { name } = await made();
    const refused = (status: string) => ({ response: { data: { error: { status } } } });
    await expect(client.labels.enable({ name })).rejects.toMatchObject({
      code: 400,
      ...refused('FAILED_PRECONDITION'),
    });
    await expect(client.labels.create({ requestBody: { labelType: 'SHARED' } })).rejects.toMatchObject({
      code: 400,
      ...refused('INVALID_ARGUMENT'),
    });
    await expect(client.labels.list({ pageToken: 'made-up' })).rejects.toThrow(/pageToken/);
    await expect(client.labels.delete({ name: 'labels/none' })).rejects.toMatchObject({
      code: 404,
      ...refused('NOT_FOUND'),
    });
  });
  test('a batch of calls is one request with one response per call', async () => {
    const { name } = await made('In the batch');
    const { batchFetchImplementation } = peers()('@jrmdayn/googleapis-batcher');
    const requests = async (): Promise<any[]> =>
      (await fetch(`${origin}/__opsctl/requests`)).json() as Promise<any[]>;
    const together = await forms[form](token(), batchFetchImplementation());
    await fetch(`${origin}/__opsctl/requests`, { method: 'DELETE' });
    const [found, missing, another] = await Promise.allSettled([
      together.labels.get({ name }),
      together.labels.get({ name: 'labels/none' }),
      together.labels.create({ requestBody: title('Made in a batch') }),
    ]);
    expect(await requests()).toMatchObject([{ method: 'POST', path: '/batch', status: 200 }]);
    expect(found).toMatchObject({ value: { data: { properties: { title: 'In the batch' } } } });
    expect(missing).toMatchObject({ reason: { status: 404 } });
    expect(another).toMatchObject({ value: { data: { properties: { title: 'Made in a batch' } } } });
  });
  test('every row of the table was used at least once', () => {
    const template = (path: string): RegExp =>
      new RegExp(
        `^${path.replace(/\{[^}]*\}/g, (part) => part.replace(/^\{\w+=|\}$/g, '').replace(/\*/g, '[^/:]+'))}$`,
      );
    const missing = operations(service.table)
      .map(({ operation }) => operation)
      .filter(
        ({ method, path }) =>
          ![...answered[form]].some(
            (one) => one.startsWith(`${method} `) && template(path).test(one.slice(method.length + 1)),
          ),
      );
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });
});

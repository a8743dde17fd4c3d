/** Statements of `docs/spec/labels.md` about the service: raw requests with literals. */
import { beforeEach, describe, expect, test } from 'vitest';
import { grantedToken } from '../support/labels-tokens.ts';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { discovery } from '../../src/reference/discovery.ts';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { type Mark, covers, markTest } from '../support/covers.ts';

let server: LabelServer;
const send: LabelServer['send'] = (...request) => server.send(...request);
beforeEach(async () => {
  server = await labelServer();
});

const text = { properties: { displayName: 'Text' }, textOptions: {} };
const selection = {
  properties: { displayName: 'Selection' },
  selectionOptions: { choices: ['one', 'two'].map((id) => ({ id, properties: { displayName: id } })) },
};
const make = async (...fields: readonly object[]) =>
  (await send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'T' }, fields })).json;
const seen = async (id: string, suffix = '') =>
  (await send('GET', `/labels/${id}${suffix}?view=LABEL_VIEW_FULL`)).json;
const act = (id: string, verb: string, body: object = {}) => send('POST', `/labels/${id}:${verb}`, body);
const retitle = (title: string) => ({
  requests: [{ updateLabel: { properties: { title }, updateMask: 'title' } }],
});
const delta = (id: string, ...requests: readonly object[]) => act(id, 'delta', { requests });
/** Returns the status, the canonical status and the fields of the violations. */
const refusal = ({ status, json }: Awaited<ReturnType<LabelServer['send']>>) => [status, json.error?.status];
const PRECONDITION = [400, 'FAILED_PRECONDITION'];
const INVALID = [400, 'INVALID_ARGUMENT'];

// source: document
describe('resource names', () => {
  test(
    'a label, its revisions and its permissions have names below each other',
    covers('spec/labels#names-1', 'spec/labels#permissions-5'),
    async () => {
      const label = await make(text);
      expect([label.name, label.id, label.revisionId]).toEqual([
        `labels/${label.id}`,
        expect.any(String),
        '1',
      ]);
      const body = { email: 'ben@example.com', role: 'READER' };
      const { json: permission } = await send('POST', `/labels/${label.id}/permissions`, body);
      expect(permission.name).toMatch(
        new RegExp(`^labels/${label.id}/(revisions/[^/]+/)?permissions/[^/]+$`),
      );
      for (const parent of [`/labels/${label.id}`, `/labels/${label.id}/revisions/1`]) {
        const { status, json } = await send('GET', `${parent}/permissions`);
        expect([status, json.labelPermissions.map(({ email }: any) => email)]).toEqual([
          200,
          expect.arrayContaining(['ben@example.com']),
        ]);
        expect((await send('GET', `${parent}/locks`)).status).toBe(200);
      }
      expect((await send('DELETE', `/${permission.name}`)).status).toBe(200);
      expect((await send('GET', `/labels/${label.id}/permissions`)).text).not.toContain('ben@example.com');
    },
  );
  test(
    'a read accepts @latest, @published and a revision, and revisions are not listed',
    covers('spec/labels#names-2'),
    async () => {
      const { id } = await make();
      await act(id, 'publish');
      await delta(id, { updateLabel: { properties: { title: 'U' }, updateMask: 'title' } });
      const revision = async (suffix: string) => (await seen(id, suffix)).revisionId;
      expect([
        await revision('@latest'),
        await revision('@published'),
        await revision('@2'),
        await revision(''),
      ]).toEqual(['3', '2', '2', '3']);
      expect((await send('GET', `/labels/${id}@99`)).status).toBe(404);
      expect((await send('GET', `/labels/${id}/revisions`)).status).toBe(404);
    },
  );
  test(
    'limits and capabilities have fixed names',
    covers('spec/labels#names-3', 'spec/labels#limits-1'),
    async () => {
      const limits = await send('GET', '/limits/label');
      expect([limits.status, limits.json.name]).toEqual([200, 'limits/label']);
      expect(limits.json).toMatchObject({
        maxFields: 10,
        maxTitleLength: expect.any(Number),
        fieldLimits: { selectionLimits: { maxChoices: 200 } },
      });
      const capabilities = await send('GET', '/users/me/capabilities');
      expect([capabilities.status, capabilities.json.name]).toEqual([
        200,
        expect.stringMatching(/^users\/[^/]+\/capabilities$/),
      ]);
    },
  );
  test(
    'an encoded slash never joins segments; %3A and %40 are equal to : and @',
    covers('spec/labels#names-4', 'spec/labels#choices-1'),
    async () => {
      const { id } = await make();
      expect((await send('GET', `/labels%2F${id}`)).status).toBe(404);
      expect((await send('GET', `/labels/${id}%2Fpermissions`)).status).toBe(404);
      expect((await send('GET', `/labels/${id}%40latest`)).json.id).toBe(id);
      expect((await send('POST', `/labels/${id}%3Apublish`, {})).status).toBe(200);
      expect((await seen(id)).lifecycle.state).toBe('PUBLISHED');
    },
  );
  test(
    'paths have the prefix /v2beta, and a discovery document describes them',
    covers('spec/labels#versions-1'),
    async () => {
      const { origin } = server.mock;
      const statusOf = async (path: string) =>
        (await fetch(`${origin}${path}`, { headers: { authorization: 'Bearer any' } })).status;
      expect([
        await statusOf('/v2beta/labels'),
        await statusOf('/v2/labels'),
        await statusOf('/labels'),
      ]).toEqual([200, 404, 404]);
      expect(discovery(labelsService, origin)).toMatchObject({ version: 'v2beta' });
    },
  );
});

// source: document
describe('lifecycle', () => {
  test(
    'a delta creates a draft revision, and publishing publishes all of its changes',
    covers('spec/labels#lifecycle-1', 'spec/labels#lifecycle-2', 'spec/labels#lifecycle-9'),
    async () => {
      const { id } = await make();
      const revisions = [(await seen(id)).revisionId];
      for (const title of ['draft 1', 'draft 2']) {
        expect((await act(id, 'delta', retitle(title))).status).toBe(200);
        revisions.push((await seen(id)).revisionId);
        expect((await seen(id)).lifecycle.state).toBe('UNPUBLISHED_DRAFT');
      }
      await act(id, 'publish');
      revisions.push((await seen(id)).revisionId);
      expect(await seen(id)).toMatchObject({
        properties: { title: 'draft 2' },
        lifecycle: { state: 'PUBLISHED' },
      });
      await act(id, 'delta', retitle('draft 3'));
      expect(await seen(id)).toMatchObject({
        lifecycle: { state: 'PUBLISHED', hasUnpublishedChanges: true },
      });
      expect((await seen(id, '@published')).properties.title).toBe('draft 2');
      await act(id, 'publish');
      const first = revisions.at(-1);
      expect((await seen(id, `@${first}`)).properties.title).toBe('draft 2');
      for (const draft of revisions.slice(1, -1))
        expect([draft, (await send('GET', `/labels/${id}@${draft}`)).status]).toEqual([draft, 404]);
      for (const revision of revisions) expect(revision).toMatch(/^\d+$/);
      expect(revisions.map(Number)).toEqual([1, 2, 3, 4]);
    },
  );
  test(
    'a published label can be disabled and enabled, with its draft',
    covers('spec/labels#lifecycle-3', 'spec/labels#lifecycle-4'),
    async () => {
      const { id } = await make();
      await act(id, 'publish');
      await act(id, 'delta', retitle('open draft'));
      expect((await act(id, 'disable')).status).toBe(200);
      expect(await seen(id)).toMatchObject({
        properties: { title: 'open draft' },
        lifecycle: { state: 'DISABLED', hasUnpublishedChanges: true },
      });
      expect((await act(id, 'enable')).status).toBe(200);
      expect((await seen(id)).lifecycle.state).toBe('PUBLISHED');
    },
  );
  test(
    'a label is deleted in any state, or only if it is disabled',
    covers('spec/labels#lifecycle-5'),
    async () => {
      const states: readonly (readonly string[])[] = [[], ['publish'], ['publish', 'disable']];
      const strict = await labelServer({ labelDeletePolicy: 'disabled-first' });
      for (const [verbs, status] of states.map((verbs, at) => [verbs, at === 1 ? 400 : 200] as const)) {
        for (const [target, expected] of [
          [server, 200],
          [strict, status],
        ] as const) {
          const { json } = await target.send('POST', '/labels', {
            labelType: 'SHARED',
            properties: { title: 'T' },
          });
          for (const verb of verbs) await target.send('POST', `/labels/${json.id}:${verb}`, {});
          expect((await target.send('DELETE', `/labels/${json.id}`)).status).toBe(expected);
          expect((await target.send('GET', `/labels/${json.id}`)).status).toBe(expected === 200 ? 404 : 200);
        }
      }
    },
  );
  test.each([
    [[], 'disable'],
    [[], 'enable'],
    [['publish'], 'publish'],
    [['publish'], 'enable'],
    [['publish', 'disable'], 'disable'],
    [['publish', 'disable'], 'publish'],
  ])(
    'after %j, %s fails with FAILED_PRECONDITION',
    covers('spec/labels#lifecycle-6'),
    async (verbs, verb) => {
      const { id } = await make();
      for (const each of verbs) expect((await act(id, each)).status).toBe(200);
      const before = await seen(id);
      expect(refusal(await act(id, verb))).toEqual(PRECONDITION);
      expect(await seen(id)).toEqual(before);
    },
  );
  test(
    'a published field keeps its type, its limits cannot shrink, and it is disabled before it is deleted',
    covers('spec/labels#lifecycle-7'),
    async () => {
      const users = { properties: { displayName: 'Users' }, userOptions: { listOptions: { maxEntries: 5 } } };
      const label = await make(text, selection, users);
      const [textId, selectionId, userId] = label.fields.map(({ id }: { readonly id: string }) => id);
      const retype = { updateFieldType: { id: textId, integerOptions: {}, updateMask: 'integerOptions' } };
      const shrink = (maxEntries: number) => ({
        updateFieldType: {
          id: userId,
          userOptions: { listOptions: { maxEntries } },
          updateMask: 'userOptions.listOptions.maxEntries',
        },
      });
      const addList = {
        updateFieldType: {
          id: selectionId,
          selectionOptions: { listOptions: { maxEntries: 3 } },
          updateMask: 'selectionOptions.listOptions',
        },
      };
      await act(label.id, 'publish');
      const rejected = [
        retype,
        shrink(4),
        addList,
        { deleteField: { id: textId } },
        { deleteSelectionChoice: { fieldId: selectionId, id: 'one' } },
      ];
      for (const request of rejected)
        expect([request, refusal(await delta(label.id, request))]).toEqual([request, PRECONDITION]);
      expect((await delta(label.id, shrink(6))).status).toBe(200);
      const policy = { disabledPolicy: {}, updateMask: '*' };
      for (const request of [
        { disableField: { id: textId, ...policy } },
        { disableSelectionChoice: { fieldId: selectionId, id: 'one', ...policy } },
        { deleteField: { id: textId } },
        { deleteSelectionChoice: { fieldId: selectionId, id: 'one' } },
      ])
        expect([request, (await delta(label.id, request)).status]).toEqual([request, 200]);
    },
  );
  test(
    'permissions, copy mode and enabled applications change without a revision',
    covers('spec/labels#lifecycle-8'),
    async () => {
      const { id } = await make();
      await act(id, 'publish');
      const before = (await seen(id)).revisionId;
      const apps = { enabledAppSettings: { enabledApps: [{ app: 'FILES' }] } };
      const reader = { email: 'b@example.com', role: 'READER' };
      expect((await act(id, 'updateLabelCopyMode', { copyMode: 'ALWAYS_COPY' })).status).toBe(200);
      expect((await act(id, 'updateLabelEnabledAppSettings', apps)).status).toBe(200);
      expect((await send('POST', `/labels/${id}/permissions`, reader)).status).toBe(200);
      expect(await seen(id)).toMatchObject({
        revisionId: before,
        appliedLabelPolicy: { copyMode: 'ALWAYS_COPY' },
        lifecycle: { state: 'PUBLISHED' },
        ...apps,
      });
      expect((await seen(id, '@published')).appliedLabelPolicy.copyMode).toBe('ALWAYS_COPY');
    },
  );
  test('a label has ten methods', covers('spec/labels#labels-1'), async () => {
    const { id } = await make();
    expect((await send('GET', '/labels')).json.labels.map((one: any) => one.id)).toEqual([id]);
    expect((await send('GET', `/labels/${id}`)).json.id).toBe(id);
    const calls: readonly (readonly [string, object])[] = [
      ['delta', retitle('U')],
      ['publish', {}],
      ['updateLabelCopyMode', { copyMode: 'ALWAYS_COPY' }],
      ['updateLabelEnabledAppSettings', { enabledAppSettings: { enabledApps: [{ app: 'FILES' }] } }],
      ['disable', {}],
      ['enable', {}],
    ];
    for (const [verb, body] of calls) expect([verb, (await act(id, verb, body)).status]).toEqual([verb, 200]);
    expect(await seen(id)).toMatchObject({
      properties: { title: 'U' },
      appliedLabelPolicy: { copyMode: 'ALWAYS_COPY' },
      enabledAppSettings: { enabledApps: [{ app: 'FILES' }] },
    });
    expect((await send('DELETE', `/labels/${id}`)).json).toEqual({});
    expect((await send('GET', '/labels')).json.labels ?? []).toEqual([]);
  });
});

// source: document
describe('permissions', () => {
  /** The permissions that a test made, in the order of their addresses. */
  const made = async (parent: string): Promise<any[]> =>
    (await send('GET', `${parent}/permissions`)).json.labelPermissions
      .filter(({ email }: any) => email?.endsWith('@example.net'))
      .sort((a: any, b: any) => a.email.localeCompare(b.email));
  const rolesOf = async (parent: string) => (await made(parent)).map(({ email, role }) => `${email} ${role}`);
  test(
    'the permissions of a label and of its revision are the same data',
    covers('spec/labels#permissions-1'),
    async () => {
      const { id } = await make();
      const parents = [`/labels/${id}`, `/labels/${id}/revisions/1`];
      for (const [at, parent] of parents.entries()) {
        const body = { email: `p${at}@example.net`, role: 'READER' };
        expect((await send('POST', `${parent}/permissions`, body)).status).toBe(200);
        const changed = await send('PATCH', `${parent}/permissions`, { ...body, role: 'EDITOR' });
        expect([changed.status, changed.json.role]).toEqual([200, 'EDITOR']);
      }
      const entry = { labelPermission: { email: 'p2@example.net', role: 'READER' } };
      const batch = await send('POST', `${parents[1]}/permissions:batchUpdate`, { requests: [entry] });
      expect(batch.status).toBe(200);
      for (const parent of parents)
        expect(await rolesOf(parent)).toEqual([
          'p0@example.net EDITOR',
          'p1@example.net EDITOR',
          'p2@example.net READER',
        ]);
      const [first, ...rest] = (await made(parents[0] ?? '')).map(({ name }) => name);
      expect((await send('DELETE', `/${first}`)).status).toBe(200);
      const requests = rest.map((name: string) => ({ name }));
      expect((await send('POST', `${parents[0]}/permissions:batchDelete`, { requests })).status).toBe(200);
      for (const parent of parents) expect(await rolesOf(parent)).toEqual([]);
    },
  );
  test(
    'a principal is exactly one of person, group and audience, or an email address',
    covers('spec/labels#permissions-3'),
    async () => {
      const { id } = await make();
      const add = async (body: object) =>
        (await send('POST', `/labels/${id}/permissions`, { role: 'READER', ...body })).status;
      for (const principal of [
        { person: 'people/1' },
        { group: 'groups/1' },
        { audience: 'audiences/default' },
        { email: 'someone@example.net' },
      ])
        expect([principal, await add(principal)]).toEqual([principal, 200]);
      for (const principal of [
        {},
        { person: 'people/2', group: 'groups/2' },
        { person: 'people/2', email: 'someone@example.net' },
        { person: 'groups/2' },
      ])
        expect([principal, await add(principal)]).toEqual([principal, 400]);
    },
  );
  test(
    'writes replace by principal, and a batch is atomic and has one parent',
    covers('spec/labels#permissions-4'),
    async () => {
      const { id } = await make();
      const [label, at] = [`/labels/${id}`, `/labels/${id}/permissions`];
      const entry = (email: string, role: string, more: object = {}) => ({
        labelPermission: { email, role },
        ...more,
      });
      await send('POST', at, { email: 'a@example.net', role: 'READER' });
      await send('POST', at, { email: 'a@example.net', role: 'APPLIER' });
      expect(await rolesOf(label)).toEqual(['a@example.net APPLIER']);
      await send('PATCH', at, { email: 'a@example.net', role: 'EDITOR' });
      await send('PATCH', at, { email: 'b@example.net', role: 'READER' });
      expect(await rolesOf(label)).toEqual(['a@example.net EDITOR', 'b@example.net READER']);
      const batch = async (...requests: object[]) =>
        (await send('POST', `${at}:batchUpdate`, { requests })).status;
      expect(await batch(entry('a@example.net', 'READER'), entry('c@example.net', 'WRITER'))).toBe(400);
      expect(await rolesOf(label)).toEqual(['a@example.net EDITOR', 'b@example.net READER']);
      const parent = `labels/${id}`;
      expect(
        await batch(entry('a@example.net', 'READER', { parent }), entry('c@example.net', 'READER')),
      ).toBe(200);
      expect(await rolesOf(label)).toEqual([
        'a@example.net READER',
        'b@example.net READER',
        'c@example.net READER',
      ]);
      expect(await batch(entry('d@example.net', 'READER', { parent: 'labels/other' }))).toBe(400);
    },
  );
});

// source: document
describe('parameters', () => {
  test(
    'the view is BASIC by default, and FULL has all fields',
    covers('spec/labels#parameters-2'),
    async () => {
      const { id } = await make(text);
      const basic = (await send('GET', `/labels/${id}`)).json;
      expect(Object.keys(basic).sort()).toEqual(['id', 'labelType', 'name', 'properties', 'revisionId']);
      expect((await send('GET', `/labels/${id}?view=LABEL_VIEW_BASIC`)).json).toEqual(basic);
      expect((await seen(id)).fields).toHaveLength(1);
      expect(refusal(await send('GET', `/labels/${id}?view=FULL`))).toEqual(INVALID);
    },
  );
  test(
    'publishedOnly lists published and disabled labels with their revision',
    covers('spec/labels#parameters-3'),
    async () => {
      const [draft, published, disabled] = [await make(), await make(), await make()];
      for (const { id } of [published, disabled]) await act(id, 'publish');
      await act(published.id, 'delta', retitle('newer'));
      await act(disabled.id, 'disable');
      const { labels } = (await send('GET', '/labels?publishedOnly=true')).json;
      expect(labels.map(({ id }: any) => id)).toEqual([published.id, disabled.id]);
      expect(labels[0]).toMatchObject({ name: `labels/${published.id}@2`, properties: { title: 'T' } });
      expect((await send('GET', '/labels')).json.labels.map(({ id }: any) => id)).toEqual([
        draft.id,
        published.id,
        disabled.id,
      ]);
    },
  );
  test(
    'minimumRole is READER by default, and the customer is the one of the caller',
    covers('spec/labels#parameters-4'),
    async () => {
      const strict = await labelServer({ labelsAuth: 'oauth' });
      const [ana, ben] = ['ana', 'ben'].map((user) => grantedToken(strict.env, user, 'labels').headers);
      const body = { labelType: 'SHARED', properties: { title: 'T' } };
      const { id } = (await strict.send('POST', '/labels', body, ana)).json;
      await strict.send(
        'POST',
        `/labels/${id}/permissions`,
        { email: 'ben@example.com', role: 'READER' },
        ana,
      );
      const idsOf = async (query: string) =>
        ((await strict.send('GET', `/labels${query}`, undefined, ben)).json.labels ?? []).map(
          (one: any) => one.id,
        );
      expect([
        await idsOf(''),
        await idsOf('?minimumRole=READER'),
        await idsOf('?minimumRole=EDITOR'),
      ]).toEqual([[id], [id], []]);
      expect(refusal(await send('GET', '/labels?minimumRole=OWNER'))).toEqual(INVALID);
      const { customer } = (await send('GET', `/labels/${(await make()).id}?view=LABEL_VIEW_FULL`)).json;
      const own = await send('GET', '/labels');
      const named = await send('GET', `/labels?customer=${encodeURIComponent(customer)}`);
      expect([customer, named.json]).toEqual([expect.stringMatching(/^customers\//), own.json]);
    },
  );
  test.each(['delta', 'publish', 'disable'])(
    'a stale requiredRevisionId of %s is 400 and changes nothing',
    covers('spec/labels#parameters-6', 'spec/labels#errors-4'),
    async (verb) => {
      const { id } = await make();
      if (verb === 'disable') await act(id, 'publish');
      const before = await seen(id);
      const body = verb === 'delta' ? retitle('U') : {};
      const writeControl = (requiredRevisionId: string) => ({ writeControl: { requiredRevisionId } });
      expect(refusal(await act(id, verb, { ...body, ...writeControl('99') }))).toEqual(PRECONDITION);
      expect(await seen(id)).toEqual(before);
      expect((await act(id, verb, { ...body, ...writeControl(before.revisionId) })).status).toBe(200);
      if (verb !== 'delta') return;
      expect((await act(id, verb, retitle('last write wins'))).status).toBe(200);
      expect((await seen(id)).properties.title).toBe('last write wins');
    },
  );
  test.each([
    ['GET', '/labels', undefined],
    ['POST', '/labels', { labelType: 'SHARED', properties: { title: 'T' } }],
    ['GET', '/limits/label', undefined],
    ['GET', '/users/me/capabilities', undefined],
  ])('system parameters work for %s %s', covers('spec/labels#parameters-8'), async (method, path, body) => {
    await make();
    const pretty = await send(method, `${path}?prettyPrint=true`, body);
    const compact = await send(method, `${path}?prettyPrint=false`, body);
    expect([pretty.status, pretty.text.includes('\n  '), compact.text.trim().includes('\n')]).toEqual([
      200,
      true,
      false,
    ]);
    const [key = ''] = Object.keys(compact.json);
    expect(Object.keys((await send(method, `${path}?fields=${key}`, body)).json)).toEqual([key]);
    expect((await send(method, `${path}?alt=json`, body)).status).toBe(200);
    expect((await send(method, `${path}?alt=xml`, body)).status).toBe(400);
  });
  test(
    'a field mask without the page token hides the next page',
    covers('spec/labels#clients-2'),
    async () => {
      for (let i = 0; i < 3; i++) await make();
      const whole = (await send('GET', '/labels?pageSize=2')).json;
      const cut = (await send('GET', '/labels?pageSize=2&fields=labels(id)')).json;
      const both = (await send('GET', '/labels?pageSize=2&fields=labels(id),nextPageToken')).json;
      expect([whole.nextPageToken, both.nextPageToken]).toEqual([expect.any(String), expect.any(String)]);
      expect([Object.keys(cut), cut.labels.length]).toEqual([['labels'], 2]);
    },
  );
});

// source: document
describe('edits of a delta', () => {
  test('an edit has exactly one of twelve kinds', covers('spec/labels#edits-1'), async () => {
    const label = await make(text, selection);
    const [id, fieldId] = label.fields.map((one: { readonly id: string }) => one.id);
    await act(label.id, 'publish');
    const policy = { disabledPolicy: {}, updateMask: '*' };
    const two = { fieldId, id: 'two' };
    const edits: readonly object[] = [
      { updateLabel: { properties: { title: 'U' }, updateMask: 'title' } },
      { createField: { field: { properties: { displayName: 'New' }, integerOptions: {} } } },
      { updateField: { id, properties: { displayName: 'V' }, updateMask: 'displayName' } },
      { updateFieldType: { id: fieldId, selectionOptions: {}, updateMask: 'selectionOptions' } },
      { createSelectionChoice: { fieldId, choice: { properties: { displayName: 'three' } } } },
      {
        updateSelectionChoiceProperties: {
          ...two,
          properties: { displayName: '2' },
          updateMask: 'displayName',
        },
      },
      { disableSelectionChoice: { ...two, ...policy } },
      { enableSelectionChoice: two },
      { disableSelectionChoice: { ...two, ...policy } },
      { deleteSelectionChoice: two },
      { disableField: { id, ...policy } },
      { enableField: { id } },
      { disableField: { id, ...policy } },
      { deleteField: { id } },
    ];
    expect(new Set(edits.flatMap(Object.keys)).size).toBe(12);
    for (const edit of edits) {
      const answer = await delta(label.id, edit);
      expect([edit, answer.status]).toEqual([edit, 200]);
      expect(Object.keys(answer.json.responses[0])).toEqual(Object.keys(edit));
    }
    const one = edits[0] ?? {};
    expect(refusal(await delta(label.id, {}))).toEqual(INVALID);
    expect(refusal(await delta(label.id, { ...one, deleteField: { id } }))).toEqual(INVALID);
    expect(refusal(await delta(label.id, { renameLabel: {} }))).toEqual(INVALID);
  });
  test('an empty delta is 400', covers('spec/labels#choices-3'), async () => {
    const { id } = await make();
    expect(refusal(await delta(id))).toEqual(INVALID);
    expect(refusal(await act(id, 'delta', {}))).toEqual(INVALID);
    expect((await seen(id)).revisionId).toBe('1');
  });
});

// source: document
describe('errors', () => {
  test(
    'the body of an error has the code, the message, the status and the details',
    covers('spec/labels#errors-1'),
    async () => {
      const missing = await send('GET', '/labels/none');
      expect(Object.keys(missing.json)).toEqual(['error']);
      expect(missing.json.error).toMatchObject({
        code: 404,
        message: expect.stringMatching(/./),
        status: 'NOT_FOUND',
        details: [expect.objectContaining({ '@type': expect.stringMatching(/./) })],
      });
    },
  );
  test(
    'the token is checked first, then the scope and the role, then the label',
    covers('spec/labels#errors-2'),
    async () => {
      const strict = await labelServer({ labelsAuth: 'oauth' });
      const write = grantedToken(strict.env, 'ana', 'labels').headers;
      const ask = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
        const { status, json } = await strict.send(method, path, body, headers);
        return [status, json.error?.status];
      };
      const { json } = await strict.send(
        'POST',
        '/labels',
        { labelType: 'SHARED', properties: { title: 'T' } },
        write,
      );
      for (const headers of [{}, { authorization: 'Bearer made-up' }] as Record<string, string>[])
        for (const path of [`/labels/${json.id}`, '/labels/none'])
          expect(await ask('GET', path, headers)).toEqual([401, 'UNAUTHENTICATED']);
      const read = grantedToken(strict.env, 'ana', 'labels.readonly').headers;
      for (const path of [`/labels/${json.id}:publish`, '/labels/none:publish'])
        expect(await ask('POST', path, read, {})).toEqual([403, 'PERMISSION_DENIED']);
      const ben = grantedToken(strict.env, 'ben', 'labels').headers;
      expect(await ask('POST', `/labels/${json.id}:publish`, ben, {})).toEqual([403, 'PERMISSION_DENIED']);
      expect(await ask('GET', '/labels/none', write)).toEqual([404, 'NOT_FOUND']);
      await strict.send('DELETE', `/labels/${json.id}`, undefined, write);
      expect(await ask('GET', `/labels/${json.id}`, write)).toEqual([404, 'NOT_FOUND']);
    },
  );
  const body = { labelType: 'SHARED', properties: { title: 'T' } };
  test.each<[string, unknown]>([
    ['malformed JSON', '{"labelType":'],
    ['an unknown field', { ...body, color: 'red' }],
    ['an unknown enum value', { ...body, labelType: 'PRIVATE' }],
    ['a missing field', { labelType: 'SHARED' }],
    ['a value over a limit', { ...body, properties: { title: 'x'.repeat(10_000) } }],
  ])('%s is 400 INVALID_ARGUMENT', covers('spec/labels#errors-3'), async (_, sent) => {
    expect(refusal(await send('POST', '/labels', sent))).toEqual(INVALID);
    expect((await send('GET', '/labels')).json.labels ?? []).toEqual([]);
  });
  test('an empty mask is 400 INVALID_ARGUMENT', covers('spec/labels#errors-3'), async () => {
    const { id } = await make();
    const update = { updateLabel: { properties: { title: 'U' }, updateMask: '' } };
    expect(refusal(await delta(id, update))).toEqual(INVALID);
  });
  test('the JSON of requests and responses', covers('spec/labels#errors-6'), async () => {
    const snake = {
      label_type: 'SHARED',
      revision_id: '77',
      properties: { title: 'T', description: null },
      fields: [{ properties: { display_name: 'F' }, text_options: {} }],
    };
    const made = await send('POST', '/labels', snake);
    expect([made.status, made.json.labelType, made.json.revisionId]).toEqual([200, 'SHARED', '1']);
    const [field] = (await seen(made.json.id)).fields;
    expect([field.properties.displayName, Object.keys(field)]).toEqual([
      'F',
      expect.arrayContaining(['textOptions']),
    ]);
    expect(made.json.properties).toEqual({ title: 'T' });
    expect(made.text).not.toMatch(/"\w+_\w+":/);
    const priority = (priorityOverride: unknown) =>
      make({
        properties: { displayName: 'S' },
        selectionOptions: {
          choices: [
            {
              id: 'one',
              properties: { displayName: 'One', badgeConfig: { color: { red: 1 }, priorityOverride } },
            },
          ],
        },
      });
    for (const sent of ['5', 5]) {
      const label = await seen((await priority(sent)).id);
      const { badgeConfig } = label.fields[0].selectionOptions.choices[0].properties;
      expect(badgeConfig.priorityOverride).toBe('5');
    }
    expect((await send('POST', `/labels/${made.json.id}:publish`)).status).toBe(200);
    expect((await send('DELETE', `/labels/${made.json.id}`)).text.trim()).toBe('{}');
  });
});

// source: document
test.each<[Mark, string, object]>([
  ['spec/labels#scopes-1', 'labels', { read: 200, write: 200, admin: 403, adminWrite: 403 }],
  ['spec/labels#scopes-1', 'labels.readonly', { read: 200, write: 403, admin: 403, adminWrite: 403 }],
  ['spec/labels#scopes-1', 'admin.labels', { read: 200, write: 200, admin: 200, adminWrite: 200 }],
  ['spec/labels#scopes-1', 'admin.labels.readonly', { read: 200, write: 403, admin: 200, adminWrite: 403 }],
  ['spec/labels#scopes-1', 'media', { read: 403, write: 403, admin: 403, adminWrite: 403 }],
])('%s: the scope %s allows %j', async (mark, scope, expected) => {
  markTest(mark);
  const strict = await labelServer({ labelsAuth: 'oauth' });
  const { headers } = grantedToken(strict.env, 'ana', scope);
  const body = { labelType: 'SHARED', properties: { title: 'T' } };
  const statusOf = async (method: string, path: string, sent?: object) =>
    (await strict.send(method, path, sent, headers)).status;
  expect({
    read: await statusOf('GET', '/labels'),
    write: await statusOf('POST', '/labels', body),
    admin: await statusOf('GET', '/labels?useAdminAccess=true'),
    adminWrite: await statusOf('POST', '/labels?useAdminAccess=true', body),
  }).toEqual(expected);
});

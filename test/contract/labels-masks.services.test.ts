import { beforeAll, expect, test } from 'vitest';
import { grantedToken } from '../support/labels-tokens.ts';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { covers } from '../support/covers.ts';

let server: LabelServer;
let label: any;
beforeAll(async () => {
  server = await labelServer();
  const choice = {
    id: 'one',
    properties: { displayName: 'One', badgeConfig: { color: { red: 1 }, priorityOverride: '5' } },
  };
  const field = { properties: { displayName: 'F' }, selectionOptions: { choices: [choice] } };
  label = (
    await server.send('POST', '/labels', {
      labelType: 'SHARED',
      properties: { title: 'Masks' },
      fields: [field],
    })
  ).json;
  await server.send('POST', `/labels/${label.id}:publish`, {});
});

/** Source: the reference, "at least one field must be specified", of each of these requests. */
// source: document
test.each([
  ['updateLabel', () => ({ properties: { title: 'X' } })],
  ['updateField', () => ({ id: label.fields[0].id, properties: { displayName: 'X' } })],
  ['updateFieldType', () => ({ id: label.fields[0].id, selectionOptions: {} })],
  ['disableField', () => ({ id: label.fields[0].id, disabledPolicy: {} })],
  [
    'updateSelectionChoiceProperties',
    () => ({ fieldId: label.fields[0].id, id: 'one', properties: { displayName: 'X' } }),
  ],
  ['disableSelectionChoice', () => ({ fieldId: label.fields[0].id, id: 'one', disabledPolicy: {} })],
] as const)('%s without a mask is refused', covers('spec/labels#parameters-7'), async (kind, body) => {
  const before = (await server.send('GET', `/labels/${label.id}?view=LABEL_VIEW_FULL`)).text;
  const { status, json } = await server.send('POST', `/labels/${label.id}:delta`, {
    requests: [{ [kind]: body() }],
  });
  expect([status, json.error.details[0].reason, json.error.details[1].fieldViolations[0].field]).toEqual([
    400,
    'EMPTY_FIELD_MASK',
    `requests[0].${kind}.updateMask`,
  ]);
  expect((await server.send('GET', `/labels/${label.id}?view=LABEL_VIEW_FULL`)).text).toBe(before);
});

// source: document
test('disable wants a mask with a policy, and none without', async () => {
  const refused = await server.send('POST', `/labels/${label.id}:disable`, {
    disabledPolicy: { showInApply: true },
  });
  expect([refused.status, refused.json.error.details[0].reason]).toEqual([400, 'EMPTY_FIELD_MASK']);
  expect((await server.send('POST', `/labels/${label.id}:disable`, {})).status).toBe(200);
  expect((await server.send('POST', `/labels/${label.id}:enable`, {})).status).toBe(200);
});

// source: rule
test('a nested name writes only what it names', covers('spec/labels#parameters-7'), async () => {
  const edit = (updateMask: string, badgeConfig: object) =>
    server.send('POST', `/labels/${label.id}:delta`, {
      view: 'LABEL_VIEW_FULL',
      requests: [
        {
          updateSelectionChoiceProperties: {
            fieldId: label.fields[0].id,
            id: 'one',
            properties: { badgeConfig },
            updateMask,
          },
        },
      ],
    });
  const { json } = await edit('badgeConfig.priorityOverride', { priorityOverride: '9', color: { blue: 1 } });
  expect(json.updatedLabel.fields[0].selectionOptions.choices[0].properties.badgeConfig).toEqual({
    color: { red: 1 },
    priorityOverride: '9',
  });
  expect((await edit('badgeConfig.weight', {})).status).toBe(400);
});

/** Source: the reference of roles, "ORGANIZER: … add appliers". */
// source: document
test('an organizer may only add appliers', covers('spec/labels#permissions-2'), async () => {
  const strict = await labelServer({ labelsAuth: 'oauth' });
  const owner = grantedToken(strict.env, 'owner', 'labels', 'admin.labels');
  const organizer = grantedToken(strict.env, 'organizer', 'labels');
  const { json: made } = await strict.send(
    'POST',
    '/labels',
    { labelType: 'SHARED', properties: { title: 'Roles' } },
    {
      ...owner.headers,
      'content-type': 'application/json',
    },
  );
  const give = (who: typeof owner, email: string, role: string) =>
    strict.send(
      'POST',
      `/labels/${made.id}/permissions`,
      { email, role },
      { ...who.headers, 'content-type': 'application/json' },
    );
  expect((await give(owner, 'organizer@example.com', 'ORGANIZER')).status).toBe(200);
  expect((await give(owner, 'boss@example.com', 'EDITOR')).status).toBe(200);
  expect((await give(organizer, 'new@example.com', 'APPLIER')).status).toBe(200);
  for (const [email, role] of [
    ['new2@example.com', 'ORGANIZER'],
    ['new2@example.com', 'READER'],
    ['boss@example.com', 'APPLIER'],
  ] as const)
    expect([email, role, (await give(organizer, email, role)).json.error?.details[0].reason]).toEqual([
      email,
      role,
      'ROLE_TOO_LOW',
    ]);
  const batch = (requests: object[]) =>
    strict.send(
      'POST',
      `/labels/${made.id}/permissions:batchUpdate`,
      { requests },
      { ...organizer.headers, 'content-type': 'application/json' },
    );
  const applier = { labelPermission: { email: 'third@example.com', role: 'APPLIER' } };
  expect((await batch([applier])).status).toBe(200);
  expect(
    (await batch([applier, { labelPermission: { email: 'x@example.com', role: 'EDITOR' } }])).status,
  ).toBe(403);
  await strict.close();
});

// source: choice
test(
  'without the option for real tokens any bearer token is accepted, and a request without one is not',
  covers('spec/program#mock-server-4'),
  async () => {
    const status = async (headers: Record<string, string>) =>
      (await server.send('GET', '/labels', undefined, headers)).status;
    expect(await status({ authorization: 'Bearer some-other-token' })).toBe(200);
    expect(await status({})).toBe(401);
  },
);
// source: choice
test('the name of a permission ends with one segment', covers('spec/program#choices-8'), async () => {
  const permissions = `/labels/${label.id}/permissions`;
  for (const principal of [{ email: 'reader@example.com' }, { person: 'people/7' }]) {
    const { json } = await server.send('POST', permissions, { ...principal, role: 'READER' });
    expect(json.name).toMatch(new RegExp(`^labels/${label.id}/permissions/[^/]+$`));
  }
});
// source: choice
test('capabilities are returned for any known user', covers('spec/program#choices-9'), async () => {
  const status = async (user: string) => (await server.send('GET', `/users/${user}/capabilities`)).status;
  expect([await status('me'), await status('colleague@example.com'), await status('nobody')]).toEqual([
    ...[200, 200, 404],
  ]);
});

// source: document
test('a mask of paths is accepted only if each path is a string', async () => {
  const send = (updateMask: unknown) =>
    server.send('POST', `/labels/${label.id}:delta`, {
      requests: [{ updateLabel: { properties: { title: 'Masks', description: 'd' }, updateMask } }],
    });
  expect((await send({ paths: ['title', 'description'] })).status).toBe(200);
  for (const paths of [
    ['title', ['description']],
    [['title'], 'description'],
    ['title', 1],
  ]) {
    const { status, json } = await send({ paths });
    const field = json.error?.details[1].fieldViolations[0].field;
    expect([status, field]).toEqual([400, 'requests[0].updateLabel.updateMask']);
  }
});

import { beforeEach, describe, expect, test } from 'vitest';
import { type LabelServer, labelServer } from '../../support/labels-server.ts';
import { covers } from '../../support/covers.ts';

let server: LabelServer;
beforeEach(async () => {
  server = await labelServer();
});

/** A published label with a selection field S (choices one, two) and a text field T, locked at one position. */
const locked = async (
  part: { field?: 'S' | 'T'; choice?: string },
  state: 'ACTIVE' | 'DELETING' = 'ACTIVE',
) => {
  const fields = [
    {
      properties: { displayName: 'S' },
      selectionOptions: { choices: ['one', 'two'].map((id) => ({ id, properties: { displayName: id } })) },
    },
    { properties: { displayName: 'T' }, textOptions: {} },
  ];
  const { json } = await server.send('POST', '/labels', {
    labelType: 'SHARED',
    properties: { title: 'Locked' },
    fields,
  });
  await server.send('POST', `/labels/${json.id}:publish`, {});
  const [S, T] = json.fields.map((f: { id: string }) => f.id);
  const fieldId = part.field === 'S' ? S : part.field === 'T' ? T : undefined;
  const { store } = server.env;
  store.transact(() =>
    store.collection('labels.locks').put(`${json.id}/l1`, {
      id: 'l1',
      seq: 1,
      label: json.id,
      fieldId,
      choiceId: part.choice,
      createTime: 0,
      state,
    }),
  );
  const delta = async (request: object): Promise<number> =>
    (await server.send('POST', `/labels/${json.id}:delta`, { requests: [request] })).status;
  return { id: json.id as string, S: S as string, T: T as string, delta };
};
const disabledPolicy = {};

describe.each(['ACTIVE', 'DELETING'] as const)('%s', (state) => {
  test('a lock on the label refuses every change of it', covers('spec/labels#locks-1'), async () => {
    const { id, S, T, delta } = await locked({}, state);
    expect(await delta({ updateLabel: { properties: { title: 'x' }, updateMask: 'title' } })).toBe(400);
    expect(
      await delta({ createField: { field: { properties: { displayName: 'N' }, textOptions: {} } } }),
    ).toBe(400);
    expect(
      await delta({ updateField: { id: T, properties: { displayName: 'x' }, updateMask: 'displayName' } }),
    ).toBe(400);
    expect(
      await delta({ createSelectionChoice: { fieldId: S, choice: { properties: { displayName: 'x' } } } }),
    ).toBe(400);
    for (const verb of [':disable', ':updateLabelCopyMode']) {
      expect(
        (
          await server.send(
            'POST',
            `/labels/${id}${verb}`,
            verb === ':disable' ? {} : { copyMode: 'ALWAYS_COPY' },
          )
        ).json.error.status,
      ).toBe('FAILED_PRECONDITION');
    }
    expect((await server.send('DELETE', `/labels/${id}`)).json.error.details[0].reason).toBe('LOCKED');
    expect(
      (
        await server.send('POST', `/labels/${id}/permissions`, {
          audience: 'audiences/default',
          role: 'READER',
        })
      ).status,
    ).toBe(200);
  });

  test(
    'a lock on a field guards it and its choices, and keeps the label from going',
    covers('spec/labels#locks-1', 'spec/labels#choices-2'),
    async () => {
      const { id, S, T, delta } = await locked({ field: 'S' }, state);
      expect(
        await delta({ updateField: { id: S, properties: { displayName: 'x' }, updateMask: 'displayName' } }),
      ).toBe(400);
      expect(
        await delta({
          updateFieldType: { id: S, selectionOptions: { listOptions: {} }, updateMask: 'selectionOptions' },
        }),
      ).toBe(400);
      expect(
        await delta({ disableSelectionChoice: { fieldId: S, id: 'one', disabledPolicy, updateMask: '*' } }),
      ).toBe(400);
      expect(
        await delta({ createSelectionChoice: { fieldId: S, choice: { properties: { displayName: 'x' } } } }),
      ).toBe(400);
      expect(
        await delta({ updateField: { id: T, properties: { displayName: 'x' }, updateMask: 'displayName' } }),
      ).toBe(200);
      expect(await delta({ updateLabel: { properties: { title: 'x' }, updateMask: 'title' } })).toBe(200);
      expect((await server.send('POST', `/labels/${id}:disable`, {})).status).toBe(400);
      expect((await server.send('DELETE', `/labels/${id}`)).status).toBe(400);
    },
  );

  test(
    'a lock on a choice guards it, and keeps its field from going',
    covers('spec/labels#locks-1', 'spec/labels#choices-2'),
    async () => {
      const { S, delta } = await locked({ field: 'S', choice: 'one' }, state);
      expect(
        await delta({
          updateSelectionChoiceProperties: {
            fieldId: S,
            id: 'one',
            properties: { displayName: 'x' },
            updateMask: 'displayName',
          },
        }),
      ).toBe(400);
      expect(
        await delta({ disableSelectionChoice: { fieldId: S, id: 'one', disabledPolicy, updateMask: '*' } }),
      ).toBe(400);
      expect(await delta({ disableField: { id: S, disabledPolicy, updateMask: '*' } })).toBe(400);
      expect(
        await delta({
          updateSelectionChoiceProperties: {
            fieldId: S,
            id: 'two',
            properties: { displayName: 'x' },
            updateMask: 'displayName',
          },
        }),
      ).toBe(200);
      expect(
        await delta({ updateField: { id: S, properties: { displayName: 'x' }, updateMask: 'displayName' } }),
      ).toBe(200);
    },
  );
});

test('capabilities match the actual rules', covers('spec/labels#capabilities-1'), async () => {
  const { id, S } = await locked({ field: 'S', choice: 'one' });
  const { json } = await server.send('GET', `/labels/${id}?view=LABEL_VIEW_FULL`);
  expect(json.schemaCapabilities).toEqual({
    canUpdate: true,
    canDelete: false,
    canDisable: false,
    canEnable: false,
  });
  const field = json.fields.find((f: { id: string }) => f.id === S);
  expect(field.schemaCapabilities).toEqual({
    canUpdate: true,
    canDelete: false,
    canDisable: false,
    canEnable: false,
  });
  expect(field.lockStatus).toEqual({ locked: false });
  expect(
    field.selectionOptions.choices.map((c: any) => [
      c.lockStatus.locked,
      c.schemaCapabilities.canUpdate,
      c.schemaCapabilities.canDisable,
    ]),
  ).toEqual([
    [true, false, false],
    [false, true, true],
  ]);
});

import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { type LabelServer, directly, labelServer } from '../support/labels-server.ts';

/** The state table of the document, spec/sign-in#check-3.2 and spec/sign-in#check-3.3, without any code of the implementation. */
type Model = {
  state: 'draft' | 'published' | 'disabled' | 'deleted';
  revision: number;
  publishedTitle: string | undefined;
  title: string;
  hasDraft: boolean;
};
type Step = {
  readonly action: 'delta' | 'publish' | 'disable' | 'enable' | 'delete';
  readonly title: string;
  readonly pin: 'none' | 'right' | 'wrong';
};

/** Applies the expected effect. Returns false for a refusal, which changes no data. */
const move = (model: Model, { action, title, pin }: Step): boolean => {
  if (model.state === 'deleted' || pin === 'wrong') return false;
  switch (action) {
    case 'delta':
      Object.assign(model, { title, hasDraft: true, revision: model.revision + 1 });
      return true;
    case 'publish':
      if (model.state === 'disabled' || !model.hasDraft) return false;
      Object.assign(model, {
        state: 'published',
        publishedTitle: model.title,
        hasDraft: false,
        revision: model.revision + 1,
      });
      return true;
    case 'disable':
      if (model.state !== 'published') return false;
      Object.assign(model, { state: 'disabled', revision: model.revision + (model.hasDraft ? 2 : 1) });
      return true;
    case 'enable':
      if (model.state !== 'disabled') return false;
      Object.assign(model, { state: 'published', revision: model.revision + (model.hasDraft ? 2 : 1) });
      return true;
    default:
      model.state = 'deleted';
      return true;
  }
};

const states = { draft: 'UNPUBLISHED_DRAFT', published: 'PUBLISHED', disabled: 'DISABLED', deleted: '' };
const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom(
    'delta',
    'publish',
    'disable',
    'enable',
    'delta',
    'publish',
    'disable',
    'enable',
    'delete',
  ),
  title: fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  pin: fc.constantFrom('none', 'none', 'right', 'wrong'),
});

let server: LabelServer;
beforeAll(async () => {
  server = await labelServer();
});

test('random sequences agree with the model of the state table', () => {
  const send = directly(server.env);
  const compare = (id: string, model: Model): void => {
    const latest = send('GET', `/labels/${id}?view=LABEL_VIEW_FULL`);
    if (model.state === 'deleted') {
      expect(latest.status).toBe(404);
      return;
    }
    expect(latest.json).toMatchObject({
      revisionId: String(model.revision),
      properties: { title: model.title },
      lifecycle: { state: states[model.state] },
    });
    expect(latest.json.lifecycle.hasUnpublishedChanges ?? false).toBe(
      model.state !== 'draft' && model.hasDraft,
    );
    const published = send('GET', `/labels/${id}@published`);
    expect(published.status).toBe(model.publishedTitle === undefined ? 404 : 200);
    if (model.publishedTitle !== undefined)
      expect(published.json.properties.title).toBe(model.publishedTitle);
  };
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
      const { json } = send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'start' } });
      const model: Model = {
        state: 'draft',
        revision: 1,
        publishedTitle: undefined,
        title: 'start',
        hasDraft: true,
      };
      for (const one of steps) {
        const requiredRevisionId =
          one.pin === 'none' ? '' : one.pin === 'right' ? String(model.revision) : String(model.revision + 7);
        const legal = move(model, one);
        const body = {
          writeControl: { requiredRevisionId },
          ...(one.action === 'delta'
            ? { requests: [{ updateLabel: { properties: { title: one.title }, updateMask: 'title' } }] }
            : {}),
        };
        const reply =
          one.action === 'delete'
            ? send('DELETE', `/labels/${json.id}?writeControl.requiredRevisionId=${requiredRevisionId}`)
            : send('POST', `/labels/${json.id}:${one.action}`, body);
        expect(reply.status === 200).toBe(legal);
        compare(json.id, model);
      }
      send('DELETE', `/labels/${json.id}`);
    }),
    { numRuns: 200 },
  );
});

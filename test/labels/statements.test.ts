/** Statements of `docs/spec/labels.md` about the client. */
import { expect, test } from 'vitest';
import { type Asked, labelsInMemory } from '../support/in-memory.ts';
import { covers } from '../support/covers.ts';

const isCreate = ({ method, path }: Asked): boolean => method === 'POST' && /^\/labels(\?|$)/.test(path);
const failure = (status: number) => ({
  status,
  json: { error: { code: status, message: 'no', status: 'X' } },
});
/** Fails the first request that `isMeant` selects with this status. */
const failOnce = (status: number, isMeant: (asked: Asked) => boolean) => {
  let failed = 0;
  return (asked: Asked) => {
    if (failed > 0 || !isMeant(asked)) return undefined;
    failed += 1;
    return failure(status);
  };
};

test.each([429, 503])(
  'after %d, the client repeats a read, and a write only if the service did not process it',
  covers('spec/labels#errors-5'),
  async (status) => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\n' });
    await at.run(['apply', '-f', 'a.yaml']);
    const read = await at.run(['list', '-o', 'json'], {
      meanwhile: failOnce(status, ({ method }) => method === 'GET'),
    });
    expect([read.code, read.requests.length]).toEqual([0, 2]);
    const isPublish = ({ path }: Asked): boolean => path.includes(':publish');
    const pinned = await at.run(['publish', 'A', '--yes', '-o', 'json'], {
      meanwhile: failOnce(status, isPublish),
    });
    const published = pinned.requests.filter(isPublish);
    const isRepeated = status === 429;
    expect([pinned.code === 0, published.length]).toEqual([isRepeated, isRepeated ? 2 : 1]);
    expect(published[0]?.body.writeControl.requiredRevisionId).toBe('1');
    const created = await at.run(['create', '--label-type', 'SHARED', '--title', 'B', '-o', 'json'], {
      meanwhile: failOnce(status, isCreate),
    });
    expect([created.code === 0, created.requests.filter(isCreate).length]).toEqual([
      isRepeated,
      isRepeated ? 2 : 1,
    ]);
  },
);

test(
  'an unknown value of an enumeration is preserved, and any field of a response may be absent',
  covers('spec/labels#schemas-1'),
  async () => {
    const at = labelsInMemory();
    const later = { name: 'labels/L', id: 'L', labelType: 'TEAM', lifecycle: { state: 'ARCHIVED' } };
    const read = await at.run(['get', 'labels/L', '-o', 'json'], {
      meanwhile: () => ({ status: 200, json: later }),
    });
    expect([read.code, read.json()]).toEqual([0, expect.objectContaining(later)]);
    const empty = await at.run(['get', 'labels/L', '-o', 'json'], {
      meanwhile: () => ({ status: 200, json: {} }),
    });
    expect(empty.code).toBe(0);
    const sent = await at.run(['create', '--label-type', 'TEAM', '--title', 'T', '-o', 'json'], {
      meanwhile: (asked) => (isCreate(asked) ? { status: 200, json: later } : undefined),
    });
    expect([sent.code, sent.requests.find(isCreate)?.body.labelType]).toEqual([0, 'TEAM']);
  },
);

test('a list reads every page unless a limit is set', covers('spec/labels#clients-1'), async () => {
  const at = labelsInMemory();
  for (let i = 0; i < 5; i++)
    at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: `L${i}` } });
  const all = await at.run(['list', '--page-size', '2', '-o', 'json']);
  expect([all.json().length, all.requests.length]).toEqual([5, 3]);
  const some = await at.run(['list', '--page-size', '2', '--limit', '3', '-o', 'json']);
  expect(some.json()).toHaveLength(3);
});

const file = (choices: string, rest = '') =>
  `title: A\nfields:\n  - name: S\n    type: selection\n    choices: [${choices}]\n${rest}`;
const text = '  - name: T\n    type: text\n';
const parts = (at: ReturnType<typeof labelsInMemory>) => {
  const [label] = at.send('GET', '/labels?view=LABEL_VIEW_FULL').labels;
  const stateOf = ({ lifecycle }: any): string => lifecycle.state;
  return Object.fromEntries(
    label.fields.flatMap((field: any) => [
      [field.properties.displayName, stateOf(field)],
      ...(field.selectionOptions?.choices ?? []).map((one: any) => [
        one.properties.displayName,
        stateOf(one),
      ]),
    ]),
  );
};

test(
  'apply disables what the file omits, enables it again if it returns, and deletes it with --prune',
  covers('spec/labels#choices-4'),
  async () => {
    const at = labelsInMemory({ 'a.yaml': file('one, two', text) });
    const apply = async (yaml: string, ...more: string[]) => {
      await at.write('a.yaml', yaml);
      const ran = await at.run(['apply', '-f', 'a.yaml', '--yes', '--publish', ...more]);
      expect([ran.code, ran.err]).toEqual([0, expect.any(String)]);
      return parts(at);
    };
    const published = { S: 'PUBLISHED', one: 'PUBLISHED', two: 'PUBLISHED', T: 'PUBLISHED' };
    expect(await apply(file('one, two', text))).toEqual(published);
    expect(await apply(file('one'))).toEqual({ ...published, two: 'DISABLED', T: 'DISABLED' });
    expect(await apply(file('one, two', text))).toEqual(published);
    expect(await apply(file('one'), '--prune')).toEqual({ S: 'PUBLISHED', one: 'PUBLISHED' });
  },
);

test('apply deletes an omitted entry of a draft immediately', covers('spec/labels#choices-4'), async () => {
  const at = labelsInMemory({ 'a.yaml': file('one, two', text) });
  await at.run(['apply', '-f', 'a.yaml', '--yes']);
  await at.write('a.yaml', file('one'));
  expect((await at.run(['apply', '-f', 'a.yaml', '--yes'])).code).toBe(0);
  expect(Object.keys(parts(at))).toEqual(['S', 'one']);
});

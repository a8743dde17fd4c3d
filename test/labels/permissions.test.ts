import { expect, test } from 'vitest';
import { permissionPlan, permissionText, permissionsFrom } from '../../src/labels/definition.ts';
import { naming } from '../support/facts.ts';

const live = [
  { name: 'labels/x/permissions/1', role: 'READER', email: 'A@example.com', person: 'people/1' },
  { name: 'labels/x/permissions/2', role: 'EDITOR', audience: 'audiences/default' },
];

test('the sync adds, changes and removes by principal, regardless of the case of an email address', () => {
  const { wanted } = permissionsFrom([
    { role: 'editor', email: 'a@example.com' },
    { role: 'READER', group: 'groups/1' },
  ]);
  const plan = permissionPlan(wanted, live, false);
  expect(permissionText(plan)).toBe(
    '  + groups/1 READER\n  ~ a@example.com READER becomes EDITOR\n  x audiences/default EDITOR',
  );
  expect(permissionPlan(wanted, live, true).removed).toEqual([]);
});

test('a person id means the permission that also has an address', () => {
  const { wanted } = permissionsFrom([
    { role: 'READER', person: 'people/1' },
    { role: 'EDITOR', audience: 'audiences/default' },
  ]);
  expect(permissionText(permissionPlan(wanted, live, false))).toBe('  no changes');
});

test.each([
  ['not a list', {}, naming('list', 'permissions')],
  ['no principal', [{ role: 'READER' }], naming('exactly one of', 'email')],
  [
    'two principals',
    [{ role: 'READER', person: 'people/1', group: 'groups/1' }],
    naming('exactly one of', 'email'),
  ],
  ['an unknown role', [{ role: 'OWNER', email: 'a@b.c' }], naming('READER', 'OWNER')],
  ['no role', [{ email: 'a@b.c' }], naming('READER', 'got nothing')],
  ['an unknown key', [{ role: 'READER', mail: 'a@b.c' }], naming('not a known key')],
  [
    'one principal twice',
    [
      { role: 'READER', email: 'a@b.c' },
      { role: 'EDITOR', email: 'a@b.c' },
    ],
    naming('a@b.c', 'second time'),
  ],
  ['a word', ['READER'], naming('{role')],
])('%s is a problem', (_, value, said) => {
  expect(
    permissionsFrom(value)
      .problems.map((p) => p.message)
      .join(),
  ).toEqual(said);
});

test('listed permissions are a valid list for the file', () => {
  expect(permissionsFrom({ labelPermissions: live }).problems).toEqual([]);
});

test('a role is read in either case, and a non-text key as its text', () => {
  expect(permissionsFrom([{ role: 'reader', group: 7 }])).toEqual({
    wanted: [{ role: 'READER', group: '7' }],
    problems: [],
  });
});

test('an email address and an ID are one principal only in a listed permission, which has a name', () => {
  const of = (one: object) => permissionsFrom([{ role: 'READER', ...one }]);
  const listed = { name: 'labels/1/permissions/1', email: 'a@x' };
  expect(of({ ...listed, person: 'people/1' })).toMatchObject({ wanted: [{ email: 'a@x' }], problems: [] });
  expect(of({ ...listed, group: 'groups/1' }).problems).toEqual([]);
  for (const [key, id] of Object.entries({ person: 'people/1', group: 'groups/1', audience: 'audiences/1' }))
    expect(of({ email: 'a@x', [key]: id }).problems).toMatchObject([
      { rule: 'required', message: naming('email a@x', `${key} ${id}`) },
    ]);
  expect(of({ ...listed, audience: 'audiences/1' }).problems).toHaveLength(1);
  expect(of({ ...listed, person: 'people/1', group: 'groups/1' }).problems).toHaveLength(1);
  expect(of({ person: 'people/1', group: 'groups/1' }).problems).toHaveLength(1);
  expect(of({ audience: 'audiences/1' })).toMatchObject({
    wanted: [{ audience: 'audiences/1' }],
    problems: [],
  });
});

test('every problem has its position and a suggestion', () => {
  const problems = permissionsFrom([
    { role: 'READER', emil: 'a@x' },
    { role: 'READER', zzzzzzzz: 1, email: 'a@x' },
    { role: 'READER', email: 'A@X' },
    null,
    [],
  ]).problems.map(({ path, rule, hint }) => [path, rule, hint]);
  expect(problems).toEqual([
    ['[0].emil', 'unknown', naming('email?')],
    ['[0]', 'required', undefined],
    ['[1].zzzzzzzz', 'unknown', undefined],
    ['[3]', 'type', undefined],
    ['[4]', 'type', undefined],
    ['[2]', 'rule', 'remove one of the two entries'],
  ]);
  // Two entries without a principal are reported as incomplete, not as duplicates.
  const none = { role: 'READER' };
  expect(permissionsFrom([none, none]).problems.map(({ rule }) => rule)).toEqual(['required', 'required']);
  for (const value of [null, 'x', {}, { permissions: 3 }])
    expect(permissionsFrom(value)).toMatchObject({ wanted: [], problems: [{ path: '', rule: 'type' }] });
  expect(permissionsFrom({ permissions: [none] }).wanted).toHaveLength(1);
});

test('two that have no member in common are two principals', () => {
  const plan = permissionPlan(
    [{ role: 'READER', group: 'g' }],
    [{ name: 'p', role: 'READER', person: 'g' }],
    false,
  );
  expect([plan.added.length, plan.changed.length, plan.removed.length]).toEqual([1, 0, 1]);
  const changed = permissionPlan([{ role: 'READER', group: 'g' }], [{ name: 'p', group: 'G' }], false);
  expect(changed).toEqual({
    added: [],
    changed: [{ from: '', to: { role: 'READER', group: 'g' } }],
    removed: [],
  });
});

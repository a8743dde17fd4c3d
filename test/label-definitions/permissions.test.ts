import { expect, test } from 'vitest';
import { permissionPlan, permissionText, permissionsFrom } from '../../src/label-definitions/permissions.ts';

const live = [
  { name: 'labels/x/permissions/1', role: 'READER', email: 'A@example.com', person: 'people/1' },
  { name: 'labels/x/permissions/2', role: 'EDITOR', audience: 'audiences/default' },
];

test('adds, changes and removes by principal, whatever the case of an address', () => {
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
  ['not a list', {}, 'must be a list'],
  ['no principal', [{ role: 'READER' }], 'exactly one of'],
  ['two principals', [{ role: 'READER', person: 'people/1', group: 'groups/1' }], 'exactly one of'],
  ['an unknown role', [{ role: 'OWNER', email: 'a@b.c' }], 'got OWNER'],
  ['no role', [{ email: 'a@b.c' }], 'got nothing'],
  ['an unknown key', [{ role: 'READER', mail: 'a@b.c' }], 'not a known key'],
  [
    'one principal twice',
    [
      { role: 'READER', email: 'a@b.c' },
      { role: 'EDITOR', email: 'a@b.c' },
    ],
    'a second time',
  ],
  ['a word', ['READER'], 'must be {role'],
])('%s is a problem', (_, value, said) => {
  expect(
    permissionsFrom(value)
      .problems.map((p) => p.message)
      .join(),
  ).toContain(said);
});

test('what the service lists is a list for the file', () => {
  expect(permissionsFrom({ labelPermissions: live }).problems).toEqual([]);
});

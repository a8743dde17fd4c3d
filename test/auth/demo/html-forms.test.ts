import { expect, test } from 'vitest';
import { formIn } from '../../../src/auth/login/plan.ts';

test('a form as a browser without script would send it', () => {
  const page = `<form method="post" action="/x?a=1&amp;b=2"><input type="hidden" name="request" value="r&quot;1">
    <input id="e" name="email" type="email" required value="bob@demo.example"><input type="password" name="password">
    <input type="checkbox" name="scope" value="s1" checked><input type="checkbox" name="scope" value="s2">
    <select id="t" name="access_for"><option value="0">x</option><option value="9">y</option></select>
    <button class="main" name="decision" value="allow">ok</button><button name="decision" value="deny">no</button></form>`;
  expect(formIn(page)).toEqual({
    action: '/x?a=1&b=2',
    fields: [
      ['request', 'r"1'],
      ['scope', 's1'],
      ['scope', 's2'],
      ['access_for', '0'],
    ],
    buttons: [
      ['decision', 'allow'],
      ['decision', 'deny'],
    ],
    asks: [
      ['email', 'bob@demo.example'],
      ['password', ''],
    ],
  });
});

test('a page without a form returns undefined', () => {
  expect(formIn('<p>nothing</p>')).toBeUndefined();
});

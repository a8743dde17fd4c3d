import { describe, expect, test } from 'vitest';
import { digestOf } from '../../src/labels/lock-entries.ts';
import { labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const terminal = { tty: ['stdin', 'stderr'] } as const;
const A = 'title: A\nfields: [{name: Note, type: text}]\n';
const planned = async (files: Readonly<Record<string, string>>, ...more: string[]) => {
  const at = labelsInMemory(files);
  const ran = await at.run(['plan', '-f', 'labels', '--out', 'plan.json', '-o', 'json', ...more]);
  return { at, ran, plan: () => JSON.parse(at.read('plan.json') ?? '{}') };
};
const apply = ['apply', '--plan', 'plan.json', '-o', 'json'];

/** The words of a line that quotes some of them. */
const shellWords = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

describe('labels plan', () => {
  test('labels plan writes the requests of an apply, and sends none of them', async () => {
    const { at, ran, plan } = await planned({ 'labels/a.yaml': A });
    expect([ran.code, ran.writes]).toEqual([0, []]);
    expect(plan()).toEqual(ran.json());
    expect(at.read('plan.json')).toMatch(/^\{\n {2}"kind": "opsctl-labels-plan",\n[\s\S]*\}\n$/);
    expect(plan()).toMatchObject({
      version: 1,
      deployment: 'https://labels.example',
      documents: [{ source: 'labels/a.yaml', file: 'labels/a.yaml', index: 0, isOnly: true }],
    });
    expect(plan().labels[0]).toMatchObject({
      ...{ action: 'create', title: 'A', id: null, revision: null, edits: [], transitions: [] },
      ...{ copy_mode: null, enabled_apps: null, disabled_after_publishing: [], permissions: null, notes: [] },
      create: { labelType: 'SHARED' },
      changes: [{ what: 'label A' }, { what: 'field Note' }],
    });
  });
  test('labels plan prints the next command if there are changes and a file', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': A });
    const out = { tty: ['stdout'] } as const;
    const line = 'to apply it: opsctl labels apply --plan plan.json';
    const plan = async (...more: string[]) => (await at.run(['plan', '-f', 'labels', ...more], out)).out;
    expect(await plan('--out', 'plan.json')).toContain(line);
    expect(await plan()).not.toContain('to send it');
    await at.run(['apply', '-f', 'labels']);
    expect(await plan('--out', 'plan.json')).not.toContain('to send it');
    await at.write('labels/a.yaml', `${A}permissions: [{role: READER, email: r@example.com}]\n`);
    expect(await plan('--out', 'plan.json')).toContain(line);
    await at.remove('plan.json');
    await plan('--out', 'plan.json', '--dry-run');
    expect(at.read('plan.json')).toBeUndefined();
  });
  test('labels plan is rejected like the apply: by lost changes and by limits of the service', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\ndescription: ours\n' });
    await at.run(['apply', '-f', 'labels']);
    await at.run(['adopt', '-f', 'labels']);
    at.edit('A', { description: 'theirs' });
    const plan = ['plan', '-f', 'labels', '-o', 'json'];
    const lost = await at.run(plan);
    expect([lost.code, lost.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect((await at.run([...plan, '--take', 'ours'])).code).toBe(0);
    await at.write('labels/a.yaml', `title: A\ndescription: theirs\ntype: ADMIN\n`);
    const refused = await at.run(plan);
    expect([refused.code, refused.error().code]).toEqual([10, 'PLAN_REFUSED']);
  });
  test('labels plan from standard input has no file', async () => {
    const at = labelsInMemory();
    const ran = await at.run(['plan', '-f', '-', '-o', 'json'], { stdin: A });
    expect(ran.json().documents[0]).not.toHaveProperty('file');
  });
});

describe('labels apply --plan', () => {
  test('labels apply --plan sends the planned changes, and counts existing ones as done', async () => {
    const { at } = await planned({ 'labels/a.yaml': A, 'labels/b.yaml': 'title: B\n' }, '--publish');
    const first = await at.run(apply);
    expect([first.code, first.json().map((one: any) => [one.title, one.published])]).toEqual([
      0,
      [
        ['A', true],
        ['B', true],
      ],
    ]);
    expect(first.err).toContain('label A: new');
    const again = await at.run(apply);
    expect([again.code, again.writes]).toEqual([0, []]);
  });
  test('labels apply --plan sends no request if a label has changed', async () => {
    const { at } = await planned({ 'labels/a.yaml': A, 'labels/b.yaml': 'title: B\n' });
    at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'B' } });
    at.edit('B', { description: 'theirs' });
    // B contains the values of the file and more, so there is no change to send. A is unchanged since the plan.
    const ran = await at.run(apply);
    expect([ran.code, ran.json().map(({ action }: any) => action)]).toEqual([0, ['create', 'none']]);

    const other = await planned({ 'labels/a.yaml': A, 'labels/b.yaml': 'title: B\ndescription: ours\n' });
    other.at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'B' } });
    const refused = await other.at.run(apply);
    expect([refused.code, refused.writes, refused.error().code]).toEqual([10, [], 'PLAN_OUT_OF_DATE']);
    expect(refused.error().message).toContain('plan.json is outdated: B ');
    expect(refused.error().message).toContain('The changes would now be:\nlabel B (labels/');
    expect(refused.error().data).toEqual({ labels: [{ title: 'B', revision: '1' }] });
    other.at.send('DELETE', `/labels/${other.at.id('B')}`);
    await other.at.run(['plan', '-f', 'labels', '--out', 'plan.json']);
    const plan = JSON.parse(other.at.read('plan.json') ?? '');
    expect(plan.labels.map((one: any) => one.action)).toEqual(['create', 'create']);
  });
  test.each([
    [['-f', 'labels'], "opsctl labels plan -f labels --out 'my plan.json'"],
    [
      ['-f', 'labels/a.yaml', '--publish', '--prune', '--take', 'ours'],
      "opsctl labels plan -f labels/a.yaml --publish --prune --take ours --out 'my plan.json'",
    ],
  ])('an outdated plan of %j names the command that makes it again', async (words, line) => {
    const at = labelsInMemory({ 'labels/a.yaml': A });
    await at.run(['apply', '-f', 'labels']);
    await at.write('labels/a.yaml', A.replace('Note', 'Other'));
    const made = await at.run(['plan', ...words, '--out', 'my plan.json'], { tty: ['stdout'] });
    expect(made.out).toContain("opsctl labels apply --plan 'my plan.json'");
    at.edit('A', { description: 'theirs' });
    const refused = await at.run(['apply', '--plan', 'my plan.json', '-o', 'json']);
    const [hint = ''] = refused.error().hints;
    expect([refused.code, hint]).toEqual([10, line]);
    expect((await at.run(shellWords(hint).slice(2))).code).toBe(0);
    expect((await at.run(['apply', '--plan', 'my plan.json', '--yes'])).code).toBe(0);
  });
  test('permissions are part of what was planned', async () => {
    const file = 'title: A\npermissions: [{role: READER, email: r@example.com}]\n';
    const { at } = await planned({ 'labels/a.yaml': file });
    expect((await at.run([...apply, '--yes'])).code).toBe(0);
    const id = at.id('A');
    expect((await at.run(['plan', '-f', 'labels', '--out', 'plan.json'])).code).toBe(0);
    at.send('POST', `/labels/${id}/permissions`, { role: 'READER', email: 'other@example.com' });
    const refused = await at.run([...apply, '--yes']);
    expect([refused.code, refused.error().code]).toEqual([10, 'PLAN_OUT_OF_DATE']);
  });
  test('asks before something is lost', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': A });
    await at.run(['apply', '-f', 'labels', '--publish']);
    await at.write('labels/a.yaml', 'title: A\nfields: []\n');
    await at.run(['plan', '-f', 'labels', '--prune', '--out', 'plan.json']);
    const ran = await at.run(apply, { ...terminal, answers: [false] });
    expect([ran.code, ran.asked.length, ran.writes]).toEqual([10, 1, []]);
  });
  test('labels apply --plan is rejected by a new problem', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': A });
    await at.run(['apply', '-f', 'labels']);
    await at.write('labels/a.yaml', A.replace('Note', 'Other'));
    await at.run(['plan', '-f', 'labels', '--out', 'plan.json']);
    const ran = await at.run(apply, {
      meanwhile: ({ path }) =>
        path.includes('/locks') ? { status: 200, json: { labelLocks: [{ name: 'locks/1' }] } } : undefined,
    });
    expect([ran.code, ran.writes, ran.error().code]).toEqual([10, [], 'PLAN_REFUSED']);
    expect(ran.error().problems).toMatchObject([{ file: 'labels/a.yaml', line: 1, column: 1 }, {}]);
  });
  test('labels apply --plan reports that a deleted label has no revision', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': A });
    await at.run(['apply', '-f', 'labels']);
    await at.write('labels/a.yaml', A.replace('Note', 'Other'));
    await at.run(['plan', '-f', 'labels', '--out', 'plan.json']);
    at.send('DELETE', `/labels/${at.id('A')}`);
    const ran = await at.run(apply);
    expect(ran.error()).toMatchObject({
      code: 'PLAN_OUT_OF_DATE',
      data: { labels: [{ title: 'A', revision: null }] },
    });
  });
  test('labels apply --plan accepts only the deployment of the plan', async () => {
    const { at, plan } = await planned({ 'labels/a.yaml': A });
    const ran = await at.run(apply, {
      meanwhile: () => undefined,
      origin: 'https://other.example',
    });
    expect([ran.code, ran.writes, ran.error().code]).toEqual([10, [], 'OTHER_DEPLOYMENT']);
    expect(plan().deployment).toBe('https://labels.example');
  });
  test.each([
    ['{"kind": "opsctl-labels-plan"', ['JSON']],
    ['[]', ['opsctl labels plan']],
    ['{"kind": "opsctl-labels-plan", "version": 2}', ['opsctl labels plan']],
    ['{"kind": "other", "version": 1}', ['opsctl labels plan']],
    ['{"kind": "opsctl-labels-plan", "version": 1, "digest": "0"}', []],
  ])('an invalid plan file is rejected: %j', async (text, values) => {
    const at = labelsInMemory({ 'plan.json': text });
    const ran = await at.run(apply);
    expect([ran.code, ran.requests]).toEqual([2, []]);
    expect(ran.error()).toMatchObject({
      problems: [{ path: '--plan', rule: 'format', message: expect.any(String) }],
      message: naming('plan.json', ...values),
    });
  });
  test('a plan that does not exist, or was edited, is refused', async () => {
    const { at } = await planned({ 'labels/a.yaml': A });
    await at.write('plan.json', (at.read('plan.json') ?? '').replace('"title": "A"', '"title": "B"'));
    expect((await at.run(apply)).error()).toMatchObject({
      problems: [{ path: '--plan', rule: 'format', message: expect.any(String) }],
      message: naming('plan.json', 'changed'),
    });
    await at.remove('plan.json');
    const missing = (await at.run(apply)).error();
    expect(missing.message).toEqual(naming('plan.json', 'exist'));
    expect(missing.problems[0].message).not.toEqual(naming('exist'));
  });
});

test.each([
  { documents: undefined },
  { documents: [null] },
  { documents: [{ value: 5 }] },
  { labels: 'x' },
  { options: {} },
  { deployment: 5 },
])('an incomplete plan with a matching digest is rejected: %j', async (change) => {
  const { at, plan } = await planned({ 'labels/a.yaml': A });
  const { digest: _, ...rest } = { ...plan(), ...change };
  await at.write(
    'plan.json',
    JSON.stringify({ ...rest, digest: digestOf(JSON.parse(JSON.stringify(rest))) }),
  );
  const ran = await at.run(apply);
  expect([ran.code, ran.error(), ran.writes]).toEqual([
    2,
    expect.objectContaining({
      problems: [{ path: '--plan', rule: 'format', message: expect.any(String) }],
      message: naming('plan.json', 'opsctl labels plan'),
    }),
    [],
  ]);
});

test('a plan names the lock entry whose definition file was removed', async () => {
  const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\n' });
  expect((await at.run(['apply', '-f', 'labels', '--yes'])).code).toBe(0);
  await at.remove('labels/b.yaml');
  const ran = await at.run(['plan', '-f', 'labels', '--out', 'plan.json']);
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('b.yaml does not exist')]);
  expect((await at.run(['plan', '-f', 'labels/a.yaml'])).err).not.toContain('does not exist');
});

import { describe, expect, test } from 'vitest';
import type { EngineContext } from '../../src/api/context.ts';
import type { FieldDef, LabelDef, LiveField, LiveLabel, PermissionDef } from '../../src/labels/definition.ts';
import { contentDigest, fieldDigest } from '../../src/labels/lock-entries.ts';
import { type Drift, baseFromRecord, baseFromRevision, driftOf, driftText } from '../../src/labels/drift.ts';
import { type DeploymentRecord, lockFrom, lockText } from '../../src/labels/lock-file.ts';
import { definitionFrom, documentsIn } from '../../src/labels/read-files.ts';
import type { PlannedLabel, Session } from '../../src/labels/prepare.ts';
import { acceptRemoteChanges } from '../../src/labels/apply.ts';
import { fakeHost } from '../support/fake-host.ts';
import { label, option, text } from '../support/live-labels.ts';
import { errorWith, naming } from '../support/facts.ts';
import { contextWith, partlyMade } from '../support/context.ts';

const selection = (name: string, ...choices: LiveField['choices'][number][]): LiveField =>
  text(name, { type: 'selection', choices });
const recordOf = (live: LiveLabel, patch: Partial<DeploymentRecord> = {}): DeploymentRecord => ({
  ...{ id: live.id, title: live.title, revision: live.revisionId, state: live.state },
  ...{ copyMode: live.copyMode, enabledApps: live.enabledApps, digest: contentDigest(live) },
  fields: Object.fromEntries(
    live.fields.map((field) => [field.name, { name: field.name, id: field.id, digest: fieldDigest(field) }]),
  ),
  ...patch,
});
/** Returns the changes by others to `then` that the file would undo, or keeps (with a +). */
const shown = (found: readonly Drift[]): string[] =>
  found.map(({ what, isLost }) => (isLost ? what : `${what} +`));
const drift = (wanted: Partial<LabelDef>, then: LiveLabel, now: LiveLabel): string[] =>
  shown(driftOf({ title: now.title, ...wanted }, baseFromRevision(then), now));
const fields = (wanted: FieldDef[], then: LiveField[], now: LiveField[]): string[] =>
  drift({ fields: wanted }, label({ fields: then }), label({ fields: now }));
const is = (name: string, patch: Partial<FieldDef> = {}): FieldDef => ({ name, type: 'text', ...patch });

describe('remote changes in a label', () => {
  test('a remote change is lost if the file has another value, and ignored if the file omits the key', () => {
    const now = label({ description: 'theirs' });
    expect(drift({ description: 'ours' }, label({ description: 'ours' }), now)).toEqual([
      'description of the label',
    ]);
    expect(drift({ description: 'theirs' }, label(), now)).toEqual(['description of the label +']);
    expect(drift({ description: null }, label(), now)).toEqual(['description of the label']);
    expect(drift({}, label(), now)).toEqual([]);
    expect(drift({ description: 'ours' }, now, now)).toEqual([]);
    expect(drift({ title: 'Contract' }, label(), label({ title: 'Other' }))).toEqual(['title of the label']);
  });

  test('a remote change is found in every key of a field', () => {
    const off = { hideInSearch: true, showInApply: false };
    expect(fields([is('A', { required: false })], [text('A')], [text('A', { required: true })])).toEqual([
      'required of field A',
    ]);
    expect(fields([is('A', { required: true })], [text('A')], [text('A', { required: true })])).toEqual([
      'required of field A +',
    ]);
    expect(fields([is('A')], [text('A')], [text('A', { required: true })])).toEqual([]);
    expect(fields([is('A', { disabled: false })], [text('A')], [text('A', { disabled: off })])).toEqual([
      'disabled of field A',
    ]);
    const user = (maxEntries: number) => text('U', { type: 'user', maxEntries });
    expect(fields([is('U', { type: 'user', maxEntries: 2 })], [user(2)], [user(5)])).toEqual([
      'maxEntries of field U',
    ]);
    expect(fields([is('U', { type: 'user', maxEntries: 0 })], [user(2)], [user(5)])).toEqual([
      'maxEntries of field U +',
    ]);
    expect(fields([is('A', { id: 'id-A' })], [text('A')], [text('A', { name: 'B' })])).toEqual([
      'name of field B',
    ]);
  });

  test('parts that came, went or were changed are lost with what the file does with them', () => {
    const off = { hideInSearch: true, showInApply: false };
    expect(fields([is('A')], [text('A')], [text('A'), text('N')])).toEqual(['field N (added)']);
    expect(fields([is('A')], [text('A')], [text('A'), text('N', { disabled: off })])).toEqual([]);
    expect(fields([is('A'), is('N', { required: true })], [text('A')], [text('A'), text('N')])).toEqual([
      'required of field N',
    ]);
    expect(
      fields([is('A'), is('N', { required: false, disabled: off })], [text('A')], [text('A'), text('N')]),
    ).toEqual([]);
    expect(fields([is('A')], [text('A')], [])).toEqual(['field A (gone)']);
    expect(fields([is('X', { id: 'id-A' })], [text('A')], [])).toEqual(['field A (gone)']);
    expect(fields([], [text('A')], [])).toEqual([]);
    expect(fields([], [text('A')], [text('A')])).toEqual([]);
    expect(fields([], [text('A')], [text('A', { required: true })])).toEqual(['field A (changed)']);
    expect(fields([], [text('A')], [text('A', { disabled: off })])).toEqual([]);
  });

  test('another order is lost only when the file has neither the old nor that one', () => {
    const [a, b] = [text('A'), text('B')];
    expect(fields([is('A'), is('B')], [a, b], [b, a])).toEqual([naming('order', 'fields')]);
    expect(fields([is('B'), is('A')], [a, b], [b, a])).toEqual([]);
    expect(fields([is('B'), is('A')], [a, b], [a, b])).toEqual([]);
  });

  test('choices are parts of their field', () => {
    const wants = (...choices: NonNullable<FieldDef['choices']>): FieldDef[] => [
      is('S', { type: 'selection', choices }),
    ];
    const then = [selection('S', option('x'))];
    const described = [selection('S', option('x', { description: 'theirs' }))];
    expect(fields(wants({ name: 'x', description: 'ours' }), then, described)).toEqual([
      'description of choice x of field S',
    ]);
    expect(fields(wants({ name: 'x' }), then, [selection('S', option('x'), option('y'))])).toEqual([
      'choice y of field S (added)',
    ]);
    expect(
      fields(
        wants({ name: 'x' }, { name: 'y' }),
        [selection('S', option('x'), option('y'))],
        [selection('S', option('y'), option('x'))],
      ),
    ).toEqual([naming('order', 'choices')]);
    expect(fields([is('S', { type: 'selection' })], then, described)).toEqual([]);
    const badge = [selection('S', option('x', { badge: { color: '#ff0000' } }))];
    expect(fields(wants({ name: 'x', badge: null }), then, badge)).toEqual(['badge of choice x of field S']);
  });
});

describe('drift according to the lock file', () => {
  const then = label({ fields: [text('A'), text('B')], description: 'd' });
  const known = (wanted: Partial<LabelDef>, now: LiveLabel, patch: Partial<DeploymentRecord> = {}) =>
    driftOf({ title: now.title, ...wanted }, baseFromRecord(recordOf(then, patch), now), now);

  test('the lock file is sufficient for unchanged parts; otherwise only values that the file changes count', () => {
    const wanted = { description: 'd', fields: [is('A', { required: false }), is('B', { required: false })] };
    expect(shown(known(wanted, then))).toEqual([]);
    const now = label({ ...then, revisionId: '4', fields: [text('A', { required: true }), text('B')] });
    expect(shown(known(wanted, now))).toEqual(['required of field A']);
    expect(known(wanted, now)[0]).not.toHaveProperty('was');
    expect(shown(known({ fields: [is('A', { required: true }), is('B')] }, now))).toEqual([]);
    expect(known({}, label({ ...then, title: 'T', revisionId: '4' }))[0]).toMatchObject({
      was: 'Contract',
      is: 'T',
    });
    expect(shown(known({ description: 'ours' }, label({ ...then, description: 'x' })))).toEqual([
      'description of the label',
    ]);
    expect(shown(known({ description: 'x' }, label({ ...then, description: 'x' })))).toEqual([]);
  });

  test('settings are not revisioned, so only the record has their previous values', () => {
    const set = (wanted: Partial<LabelDef>, now: Partial<LiveLabel>, patch: Partial<DeploymentRecord> = {}) =>
      shown(known(wanted, label({ ...then, ...now }), patch));
    expect(set({ copyMode: 'DO_NOT_COPY' }, { copyMode: 'X' })).toEqual(['copyMode of the label']);
    expect(set({ copyMode: 'X' }, { copyMode: 'X' })).toEqual(['copyMode of the label +']);
    expect(set({}, { copyMode: 'X' })).toEqual([]);
    expect(set({ enabledApps: [] }, { enabledApps: ['A'] })).toEqual(['enabledApps of the label']);
    expect(
      set({ enabledApps: ['B', 'A'] }, { enabledApps: ['A', 'B'] }, { enabledApps: ['B', 'A'] }),
    ).toEqual([]);
    expect(set({ state: 'published' }, { state: 'DISABLED' })).toEqual(['state of the label']);
    expect(set({ state: 'disabled' }, { state: 'DISABLED' })).toEqual(['state of the label +']);
    expect(
      shown(
        driftOf(
          { title: 'Contract', copyMode: 'Y' },
          baseFromRevision(then),
          label({ ...then, copyMode: 'X' }),
        ),
      ),
    ).toEqual([]);
  });

  test('permissions are compared person by person', () => {
    const permissions: PermissionDef[] = [{ role: 'READER', email: 'a@x.example' }];
    const record = { permissions: { 'a@x.example': 'READER', 'groups/g': 'READER', 'people/p': 'READER' } };
    const kept: PermissionDef[] = [
      { role: 'READER', group: 'groups/g' },
      { role: 'READER', person: 'people/p' },
    ];
    const found = (now: PermissionDef[] | undefined, wanted: PermissionDef[] | undefined = permissions) =>
      driftOf(
        { title: 'Contract', ...(wanted === undefined ? {} : { permissions: wanted }) },
        baseFromRecord(recordOf(then, record), then),
        then,
        now,
      ).map(({ what, isLost }) => [what, isLost]);
    expect(found([...permissions, ...kept])).toEqual([]);
    expect(found([{ role: 'EDITOR', email: 'a@x.example' }, ...kept])).toEqual([
      [naming('a@x.example', 'permission'), true],
    ]);
    expect(found([...kept])).toEqual([[naming('a@x.example', 'permission'), true]]);
    expect(found([...permissions, ...kept, { role: 'READER', email: 'n@x.example' }])).toEqual([
      [naming('n@x.example', 'permission'), true],
    ]);
    expect(found(kept, [])).toEqual([[naming('a@x.example', 'permission'), false]]);
    expect(found([...permissions, { role: 'READER', person: 'people/p' }])).toEqual([
      [naming('groups/g', 'permission'), false],
    ]);
    expect(found(undefined)).toEqual([]);
    const none = driftOf({ title: 'Contract', permissions }, baseFromRecord(recordOf(then), then), then, []);
    expect(none).toEqual([]);
  });

  test('a drift is reported with the previous and the current value', () => {
    const at = {};
    expect(driftText({ what: 'x', isLost: true, at })).toBe('x');
    expect(driftText({ what: 'x', was: 1, is: 2, isLost: true, at })).toBe('x: was 1, is 2');
    expect(driftText({ what: 'x', is: 2, isLost: true, at })).toBe('x: is 2');
    expect(driftText({ what: 'x (gone)', was: 'n', isLost: true, at })).toBe('x (gone): was "n"');
    expect(driftText({ what: 'x (added)', is: 'n', isLost: true, at })).toBe('x (added)');
  });
});

describe('a lock file with both sides of a merge', () => {
  const lock = (labels: object) => lockText({ labels } as Parameters<typeof lockText>[0]);
  const record = (revision: string) => recordOf(label({ revisionId: revision }));
  const sides = (ours: string, theirs: string): string =>
    `<<<<<<< HEAD\n${ours}=======\n${theirs}>>>>>>> other\n`;

  test('a merged lock file has the records of both sides, and the newer revision of one label', () => {
    const ours = lock({
      a: { file: 'a.yaml', deployments: { x: record('9') } },
      b: { deployments: { x: record('1') } },
    });
    const theirs = lock({
      a: { deployments: { x: record('10'), y: record('2') } },
      c: { deployments: { x: record('1') } },
    });
    const merged = lockFrom('labels.lock.yaml', sides(ours, theirs)).labels;
    expect(Object.keys(merged).sort()).toEqual(['a', 'b', 'c']);
    expect(merged['a']?.deployments['x']?.revision).toBe('10');
    expect(merged['a']).toMatchObject({ file: 'a.yaml', deployments: { y: { revision: '2' } } });
    expect(lockFrom('l', sides(theirs, ours)).labels['a']?.deployments['x']?.revision).toBe('10');
  });

  test.each([
    ['version: 2\n', 'version 1'],
    ['version: 1\n', 'labels'],
    ['- 1\n', 'version 1'],
    ['version: 1\nlabels: 3\n', 'labels'],
    ['version: 1\nlabels: {a: 3}\n', 'a'],
    ['version: 1\nlabels:\n  a:\n    file: x\n', 'a'],
    ['a: [\n', 'YAML'],
  ])('a malformed merged lock file is rejected: %j', (given, value) => {
    const error = errorWith('BAD_LOCK_FILE', 'labels.lock.yaml', value);
    expect(() => lockFrom('labels.lock.yaml', given)).toThrow(error);
  });

  test('a merged lock file is written back unchanged', () => {
    const labels = {
      '1e3': { deployments: { 'https://x/': record('1') } },
      b: { file: 'b.yaml', deployments: {} },
    };
    expect(lockFrom('l', lock(labels)).labels).toEqual(JSON.parse(JSON.stringify(labels)));
  });
});

describe('writing remote changes into the file', () => {
  /** Returns the file after opsctl wrote the change of the service from `then` to `now` into it. */
  const taken = async (
    yaml: string,
    then: LiveLabel,
    now: LiveLabel | undefined,
    name = 'a.yaml',
    isDryRun = false,
  ) => {
    const host = fakeHost({ files: { [`/place/${name}`]: yaml } });
    const said: string[] = [];
    const context: EngineContext = contextWith({
      host,
      isDryRun,
      log: { info: (line: string) => said.push(line) },
    });
    const prepared = documentsIn(name, yaml).map((document): PlannedLabel => {
      const wanted = definitionFrom(document.value).definition;
      const found = now === undefined ? [] : driftOf(wanted, baseFromRevision(then), now);
      const wish = { document, source: document.source, wanted };
      return partlyMade<PlannedLabel>({ wish, wanted, live: now, drift: found });
    });
    await acceptRemoteChanges(
      { context } as Session,
      prepared.filter(({ drift: found }) => now === undefined || found.length > 0),
    );
    return { text: host.files.readNow(`/place/${name}`) ?? '', said };
  };
  const then = label({
    description: 'ours',
    fields: [text('A'), text('B'), selection('S', option('x'), option('y'))],
  });
  const file = `# kept
title: Contract
description: ours
fields:
  - {name: A, type: text, required: false}
  - {name: B, type: text}
  - name: S
    type: selection
    choices: [x, y]
`;
  const changed = (patch: Partial<LiveLabel>): LiveLabel => label({ ...then, revisionId: '4', ...patch });
  const [a, b, s] = then.fields as [LiveField, LiveField, LiveField];

  test('writes members and keeps comments and everything else', async () => {
    const { text: after, said } = await taken(file, then, changed({ description: 'theirs' }));
    expect(after).toBe(file.replace('description: ours', 'description: theirs'));
    expect(said).toEqual(['a.yaml: updated description of the label']);
    const noted = file.replace('description: ours', 'description: ours # as legal wrote it');
    expect((await taken(noted, then, changed({ description: 'theirs' }))).text).toBe(
      noted.replace('ours', 'theirs'),
    );
    const required = await taken(file, then, changed({ fields: [text('A', { required: true }), b, s] }));
    expect(required.text).toBe(file.replace('required: false', 'required: true'));
  });

  test('the writer adds missing parts at their position, removes deleted ones, and updates the order', async () => {
    const added = await taken(file, then, changed({ fields: [a, text('N'), b, s] }));
    const names = (yaml: string): string[] => [...yaml.matchAll(/name: (\w)/g)].map(([, name]) => name ?? '');
    expect(names(added.text)).toEqual(['A', 'N', 'B', 'S']);
    expect(names((await taken(file, then, changed({ fields: [a, b, s, text('N')] }))).text)).toEqual([
      'A',
      'B',
      'S',
      'N',
    ]);
    expect(names((await taken(file, then, changed({ fields: [a, s] }))).text)).toEqual(['A', 'S']);
    expect(names((await taken(file, then, changed({ fields: [s, b, a] }))).text)).toEqual(['S', 'B', 'A']);
  });

  test('the writer handles choices of a field in the same manner; a bare name gets its keys', async () => {
    const choicesAfter = async (...choices: LiveField['choices'][number][]): Promise<unknown> => {
      const { text: after } = await taken(
        file,
        then,
        changed({ fields: [a, b, selection('S', ...choices)] }),
      );
      const [document] = documentsIn('a.yaml', after);
      const written = document?.value as { fields: { choices: unknown }[] } | undefined;
      return written?.fields[2]?.choices;
    };
    expect(await choicesAfter(option('x'), option('y'), option('z'))).toMatchObject([
      'x',
      'y',
      expect.anything(),
    ]);
    expect(await choicesAfter(option('y'))).toEqual(['y']);
    expect(await choicesAfter(option('y'), option('x'))).toEqual(['y', 'x']);
    const described = file.replace('[x, y]', '[{name: x, description: ours}, y]');
    const theirs = changed({
      fields: [a, b, selection('S', option('x', { description: 'theirs' }), option('y'))],
    });
    expect((await taken(described, then, theirs)).text).toBe(
      described.replace('description: ours}', 'description: theirs}'),
    );
  });

  test('the writer keeps JSON as JSON, updates each document in place, and writes nothing in a dry run', async () => {
    const json = JSON.stringify({ title: 'Contract', description: 'ours' });
    const now = changed({ description: 'theirs' });
    expect(JSON.parse((await taken(json, then, now, 'a.json')).text)).toEqual({
      title: 'Contract',
      description: 'theirs',
    });
    const two = 'title: Other\n---\ntitle: Contract\ndescription: ours\n';
    const other = await taken(two, label({ ...then, title: 'Contract' }), changed({ description: 'theirs' }));
    expect(other.text).toContain('---\ntitle: Contract\ndescription: theirs\n');
    const dry = await taken(file, then, now, 'a.yaml', true);
    expect([dry.text, dry.said]).toEqual([file, ['a.yaml: would update description of the label']]);
  });

  test('remote changes cannot be written for a deleted label, a list of definitions and standard input', async () => {
    await expect(taken(file, then, undefined)).rejects.toMatchObject({
      detail: { code: 'CHANGED_MEANWHILE' },
    });
    const list = `[${JSON.stringify({ title: 'Contract', description: 'ours' })}]`;
    const wanted = { title: 'Contract', description: 'ours' };
    const now = changed({ description: 'theirs' });
    const asked = (name: string, given: string) => {
      const document = documentsIn(name, given)[0];
      const wish = { document, source: name, wanted };
      const prepared = { wish, wanted, live: now, drift: driftOf(wanted, baseFromRevision(then), now) };
      const context = { host: fakeHost({ files: { '/place/a.json': given } }), log: { info: () => {} } };
      return acceptRemoteChanges(partlyMade<Session>({ context }), [prepared as unknown as PlannedLabel]);
    };
    await expect(asked('a.json', list)).rejects.toThrow('is a list of definitions');
    await expect(asked('-', JSON.stringify(wanted))).rejects.toThrow('standard input');
  });
});

describe('a drift as data', () => {
  const off = { hideInSearch: true, showInApply: false };
  const of = (wanted: Partial<LabelDef>, then: LiveLabel, now: LiveLabel) =>
    driftOf({ title: now.title, ...wanted }, baseFromRevision(then), now);
  const one = (wanted: FieldDef[], then: LiveField[], now: LiveField[]) =>
    of({ fields: wanted }, label({ fields: then }), label({ fields: now }));

  test('drift data contains the old value, the new value and the part', () => {
    expect(of({ description: 'ours' }, label({ description: 'ours' }), label())).toEqual([
      {
        ...{ what: naming('description', 'label'), was: 'ours', is: null, isLost: true },
        at: { member: 'description' },
      },
    ]);
    expect(of({ description: 'ours' }, label(), label({ description: 'theirs' }))).toMatchObject([
      { was: null, is: 'theirs' },
    ]);
    expect(
      one(
        [is('U', { type: 'user', maxEntries: 2 })],
        [text('U', { type: 'user' })],
        [text('U', { type: 'user', maxEntries: 5 })],
      ),
    ).toEqual([
      {
        ...{ what: 'maxEntries of field U', was: null, is: 5, isLost: true },
        at: { fieldId: 'id-U', member: 'maxEntries' },
      },
    ]);
    const wants = [is('S', { type: 'selection', choices: [{ name: 'x', description: 'ours' }] })];
    expect(
      one(wants, [selection('S', option('x'))], [selection('S', option('x', { description: 'theirs' }))]),
    ).toEqual([
      {
        ...{ what: 'description of choice x of field S', was: null, is: 'theirs', isLost: true },
        at: { fieldId: 'id-S', choiceId: 'id-x', member: 'description' },
      },
    ]);
    expect(one([is('A')], [text('A')], [text('A'), text('N')])).toEqual([
      { what: 'field N (added)', is: 'N', isLost: true, at: { fieldId: 'id-N' } },
    ]);
    expect(one([is('A')], [text('A')], [])).toEqual([
      { what: 'field A (gone)', was: 'A', isLost: true, at: { fieldId: 'id-A' } },
    ]);
    expect(one([], [text('A')], [text('A', { required: true })])).toEqual([
      { what: 'field A (changed)', is: 'A', isLost: true, at: { fieldId: 'id-A' } },
    ]);
    expect(one([is('A'), is('B')], [text('A'), text('B')], [text('B'), text('A')])).toEqual([
      { what: naming('order', 'fields'), isLost: true, at: { member: 'order' } },
    ]);
    expect(
      one(
        [is('S', { type: 'selection', choices: [{ name: 'x' }, { name: 'y' }] })],
        [selection('S', option('x'), option('y'))],
        [selection('S', option('y'), option('x'))],
      ),
    ).toEqual([{ what: naming('order', 'choices'), isLost: true, at: { fieldId: 'id-S', member: 'order' } }]);
    expect(one([is('N', { required: true })], [], [text('N')])).toEqual([
      {
        ...{ what: 'required of field N', is: false, isLost: true },
        at: { fieldId: 'id-N', member: 'required' },
      },
    ]);
  });
  test('a name that is another one by now is a drift of its part', () => {
    expect(one([is('A', { id: 'id-A' })], [text('A')], [text('B', { id: 'id-A' })])).toEqual([
      {
        ...{ what: 'name of field B', was: 'A', is: 'B', isLost: true },
        at: { fieldId: 'id-A', member: 'name' },
      },
    ]);
    expect(one([is('B', { id: 'id-A' })], [text('A')], [text('B', { id: 'id-A' })])).toMatchObject([
      { what: 'name of field B', isLost: false },
    ]);
  });
  test('the format of a date, and how a part is disabled, are members as well', () => {
    const day = (dateFormat: string): LiveField => text('D', { type: 'date', dateFormat });
    expect(
      shown(
        one([is('D', { type: 'date', dateFormat: 'LONG_DATE' })], [day('LONG_DATE')], [day('SHORT_DATE')]),
      ),
    ).toEqual(['dateFormat of field D']);
    expect(shown(one([is('A', { disabled: off })], [text('A', { disabled: off })], [text('A')]))).toEqual([
      'disabled of field A',
    ]);
    expect(shown(one([is('A', { disabled: false })], [text('A', { disabled: off })], [text('A')]))).toEqual([
      'disabled of field A +',
    ]);
  });
  test('the number of values that the service allows is compared as a number', () => {
    const user = (maxEntries?: number): LiveField =>
      text('U', { type: 'user', ...(maxEntries === undefined ? {} : { maxEntries }) });
    const wants = (maxEntries: number | null): FieldDef[] => [is('U', { type: 'user', maxEntries })];
    expect(shown(one(wants(0), [user(3)], [user(10)]))).toEqual(['maxEntries of field U +']);
    expect(shown(one(wants(null), [user()], [user()]))).toEqual([]);
    expect(shown(one(wants(null), [user()], [user(2)]))).toEqual(['maxEntries of field U']);
  });
  test('new parts of the file do not affect an order that others changed', () => {
    const [a, b, c] = [text('A'), text('B'), text('C')];
    expect(shown(one([is('A'), is('N'), is('B')], [a, b], [b, a]))).toEqual([naming('order', 'fields')]);
    expect(shown(one([is('B'), is('N'), is('A')], [a, b], [b, a]))).toEqual([]);
    // A part that others added does not change the order.
    expect(shown(one([is('A'), is('B'), is('C')], [a, b], [c, a, b]))).toEqual([]);
    expect(shown(one([is('A'), is('B')], [a, b, c], [a, c, b]))).toEqual([]);
  });
});

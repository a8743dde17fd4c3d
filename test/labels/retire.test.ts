import { describe, expect, test } from 'vitest';
import { type Asked, labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const terminal = { tty: ['stdin', 'stderr'] } as const;
const text = 'title: A\nfields: [{name: Note, type: text}]\n';
const made = async (...more: string[]) => {
  const at = labelsInMemory({ 'a.yaml': text });
  expect((await at.run(['apply', '-f', 'a.yaml', ...more])).code).toBe(0);
  return at;
};
const titles = (at: ReturnType<typeof labelsInMemory>): string[] =>
  (at.send('GET', '/labels?view=LABEL_VIEW_FULL').labels ?? []).map((one: any) => one.properties.title);
const yes = ['--yes', '--title', 'A', '-o', 'json'];

describe('labels retire', () => {
  test('disables a published label, then deletes the revision that this made', async () => {
    const at = await made('--publish');
    const id = at.id('A');
    const ran = await at.run(['retire', 'A', ...yes]);
    expect([ran.code, titles(at)]).toEqual([0, []]);
    expect(ran.json()).toEqual({
      label: `labels/${id}`,
      title: 'A',
      fields: ['Note'],
      disabled: true,
      deleted: true,
    });
    expect(ran.writes).toEqual([
      {
        method: 'POST',
        path: expect.stringContaining(':disable'),
        body: { writeControl: { requiredRevisionId: '2' } },
      },
      {
        method: 'DELETE',
        path: expect.stringMatching(/writeControl\.requiredRevisionId=3$/),
        body: undefined,
      },
    ]);
    expect(ran.err).toContain('x the values of field Note (text) on every item');
    expect(ran.err).toContain('with all its revisions\n');
  });
  test('labels retire deletes a draft immediately; --admin requests admin rights', async () => {
    const at = await made();
    const ran = await at.run(['retire', 'A', ...yes, '--admin']);
    expect([ran.code, ran.json().disabled, ran.writes.length]).toEqual([0, false, 1]);
    expect(ran.writes[0]?.path).toContain('useAdminAccess=true');
    const published = await made('--publish');
    const both = await published.run(['retire', 'A', ...yes, '--admin']);
    expect(both.writes[0]?.body).toEqual({ useAdminAccess: true, writeControl: { requiredRevisionId: '2' } });
    expect(both.writes[1]?.path).toContain('useAdminAccess=true');
    expect(both.requests.every(({ path, body }) => /[?&]useAdminAccess=true|locks/.test(path) || body)).toBe(
      true,
    );
  });
  test('labels retire reports the number of removed permissions', async () => {
    const at = await made();
    at.send('POST', `/labels/${at.id('A')}/permissions`, { role: 'READER', email: 'r@example.com' });
    expect((await at.run(['retire', 'A', '--dry-run'])).err).toContain('revisions and 1 permission\n');
  });
  test('labels retire reports its changes to a person', async () => {
    const at = await made('--publish');
    const id = at.id('A');
    const out = { tty: ['stdout'] } as const;
    expect((await at.run(['retire', 'A', '--dry-run'], out)).out).toContain(
      'A: no request was sent (dry run)',
    );
    const ran = await at.run(['retire', 'A', '--yes', '--title', 'A'], out);
    expect(ran.out).toContain(`label A (labels/${id}) was disabled and deleted`);
    const draft = await made();
    const name = `labels/${draft.id('A')}`;
    expect((await draft.run(['retire', `${name}@1`, '--yes', '--title', 'A'], out)).out).toContain(
      `label A (${name}) was deleted`,
    );
  });
  test('a dry run of labels retire neither prompts nor changes data', async () => {
    const at = await made('--publish');
    const ran = await at.run(['retire', 'A', '--dry-run', '-o', 'json'], terminal);
    expect([ran.code, ran.asked, ran.writes]).toEqual([0, [], []]);
    expect(ran.json()).toMatchObject({ disabled: false, deleted: false });
  });
  test('a locked label stays for every caller', async () => {
    const at = await made();
    const paths: string[] = [];
    const locked = ({ path }: Asked) => {
      paths.push(path);
      return path.includes('/locks')
        ? { status: 200, json: { labelLocks: [{ name: 'locks/1' }, { name: 'locks/2' }] } }
        : undefined;
    };
    const ran = await at.run(['retire', 'A', ...yes], { meanwhile: locked });
    expect([ran.code, ran.writes, ran.error().code]).toEqual([10, [], 'LOCKED']);
    expect(ran.error().message).toContain('label A is locked (locks/1, locks/2)');
    expect(paths.filter((path) => path.includes('/permissions'))).toEqual([]);
  });
  test('wants the title: of a script with --yes, of a person at the prompt', async () => {
    const at = await made();
    const wrong = await at.run(['retire', 'A', '--yes', '--title', 'B', '-o', 'json']);
    expect([wrong.code, wrong.error().message]).toEqual([2, expect.stringContaining('does not fit')]);
    for (const flags of [[], ['--yes'], ['--title', 'A']]) {
      const ran = await at.run(['retire', 'A', ...flags, '-o', 'json']);
      expect([ran.code, ran.writes, ran.error().message]).toEqual([
        2,
        [],
        expect.stringContaining('has to be repeated'),
      ]);
    }
    const mistyped = await at.run(['retire', 'A'], { ...terminal, answers: ['a'] });
    expect([mistyped.code, mistyped.writes, mistyped.asked.length]).toEqual([10, [], 1]);
    expect(mistyped.err).toContain('"a" is not the title');
    const onlyYes = await at.run(['retire', 'A', '--yes'], { ...terminal, answers: ['A'] });
    expect([onlyYes.code, onlyYes.asked.length, titles(at)]).toEqual([0, 1, []]);
  });
  test('labels retire reports the completed step if another user edits the label in the meantime', async () => {
    const at = await made('--publish');
    const edited = (method: string) => {
      let isDone = false;
      return (asked: Asked) => {
        if (asked.method !== method || isDone) return;
        isDone = true;
        at.edit('A', { description: 'theirs' });
      };
    };
    const first = await at.run(['retire', 'A', ...yes], { meanwhile: edited('POST') });
    expect([first.code, first.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect(first.error().message).toEqual(naming('revision 2', 'revision is 3', 'made'));
    expect(first.error().message.split('\n').at(-1)).toContain('description none becomes "theirs"');
    expect(first.error().message.split('\n').length).toBeGreaterThan(1);
    const second = await at.run(['retire', 'A', ...yes], { meanwhile: edited('DELETE') });
    expect(second.error().message).toEqual(naming('disabled, not deleted'));
    expect(titles(at)).toEqual(['A']);
  });
});

describe('labels publish', () => {
  const draft = async () => {
    const at = await made('--publish');
    at.edit('A', { description: 'newer' });
    return at;
  };
  test('shows the difference, asks, and publishes that very revision', async () => {
    const at = await draft();
    const no = await at.run(['publish', 'A'], { ...terminal, answers: [false] });
    expect([no.code, no.writes]).toEqual([10, []]);
    const ran = await at.run(['publish', 'A', '--language-code', 'de'], { ...terminal, answers: [true] });
    expect(ran.asked.join()).toEqual(naming('3', 'revision'));
    expect(ran.err).toContain('revision 3, will be published:\n  ~ label A changed: description none');
    expect(ran.writes.map(({ body }) => body)).toEqual([
      { writeControl: { requiredRevisionId: '3' }, languageCode: 'de' },
    ]);
    expect(at.label('A').lifecycle).toMatchObject({ state: 'PUBLISHED' });
    expect(at.label('A').lifecycle.hasUnpublishedChanges ?? false).toBe(false);
    const again = await at.run(['publish', 'A', '-o', 'json']);
    expect([again.code, again.writes, again.json().revisionId]).toEqual([0, [], at.label('A').revisionId]);
    expect(again.err).toContain('(revision 4 is published)');
  });
  test('labels publish requests admin rights with --admin, and does not prompt in a dry run', async () => {
    const at = await draft();
    const dry = await at.run(['publish', 'A', '--dry-run'], terminal);
    expect(dry.asked).toEqual([]);
    expect(at.label('A').revisionId).toBe('3');
    const ran = await at.run(['publish', 'A', '--yes', '--admin']);
    expect(ran.writes[0]?.body).toEqual({
      writeControl: { requiredRevisionId: '3' },
      useAdminAccess: true,
    });
    const plain = await draft();
    expect((await plain.run(['publish', 'A', '--yes'])).writes[0]?.body).toEqual({
      writeControl: { requiredRevisionId: '3' },
    });
  });
  test('refuses another revision than the one that was named', async () => {
    const at = await draft();
    const ran = await at.run(['publish', 'A', '--yes', '--revision', '2', '-o', 'json']);
    expect([ran.code, ran.writes, ran.error().code]).toEqual([10, [], 'CHANGED_MEANWHILE']);
    expect((await at.run(['publish', 'A', '--yes', '--revision', '3'])).code).toBe(0);
  });
  test('refuses the changes of a disabled label', async () => {
    const at = await made('--publish');
    at.send('POST', `/labels/${at.id('A')}:disable`, {});
    at.edit('A', { description: 'newer' });
    const ran = await at.run(['publish', 'A', '--yes', '-o', 'json']);
    expect([ran.code, ran.writes, ran.error().code]).toEqual([10, [], 'DISABLED']);
  });
  test('labels publish stops if another user edits the label in the meantime', async () => {
    const at = await draft();
    const ran = await at.run(['publish', 'A', '--yes', '-o', 'json'], {
      meanwhile: ({ method }) => (method === 'POST' ? at.edit('A', { description: 'newest' }) : undefined),
    });
    expect([ran.code, ran.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect(ran.error().message).toContain('description "newer" becomes "newest"');
  });
});

describe('labels diff of one label', () => {
  const row = async (at: ReturnType<typeof labelsInMemory>, typed = 'A') => {
    const { code, out } = await at.run(['diff', typed, '-o', 'json']);
    const { label, title, published_revision, draft_revision, changes } = JSON.parse(out);
    return { code, label, title, published_revision, draft_revision, changes: changes.length };
  };
  test('labels diff compares the draft with the published label', async () => {
    const at = await made();
    const label = `labels/${at.id('A')}`;
    const base = { label, title: 'A' };
    expect(await row(at)).toEqual({
      ...base,
      ...{ code: 20, published_revision: null, draft_revision: '1', changes: 2 },
    });
    await at.run(['publish', 'A', '--yes']);
    expect(await row(at, `${label}@1`)).toEqual({
      ...base,
      ...{ code: 0, published_revision: '2', draft_revision: null, changes: 0 },
    });
    at.edit('A', { description: 'newer' });
    expect(await row(at)).toEqual({
      ...base,
      ...{ code: 20, published_revision: '2', draft_revision: '3', changes: 1 },
    });
    const out = { tty: ['stdout'] } as const;
    expect((await at.run(['diff', 'A'], out)).out).toEqual(
      naming('2', 'newest', '3', 'published', 'description', 'newer'),
    );
    const other = await made();
    expect((await other.run(['diff', 'A'], out)).out).toContain(
      'label A: never published, newest revision 1',
    );
  });
  test('fails when the published revision cannot be read', async () => {
    const at = await made();
    const ran = await at.run(['diff', 'A'], {
      meanwhile: ({ path }) => (path.includes('@published') ? { status: 401, json: {} } : undefined),
    });
    expect(ran.code).toBe(4);
  });
});

import { describe, expect, test } from 'vitest';
import { covers } from '../support/covers.ts';
import { lockFrom } from '../../src/labels/lock-file.ts';
import { type Asked, ORIGIN, labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';
import { pause } from '../support/slow-host.ts';
import type { Host } from '../../src/platform/host.ts';

const terminal = { tty: ['stdin', 'stderr'] } as const;
const asJson = ['-o', 'json'];
const publishedWith = async (text: string) => {
  const at = labelsInMemory({ 'labels/a.yaml': text });
  const ran = await at.run(['apply', '-f', 'labels', '--publish', '--yes']);
  expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
  return at;
};
const isDelta = ({ path }: Asked): boolean => path.endsWith(':delta');
const failing = (status: number, of: string) => (asked: Asked) =>
  isDelta(asked) && asked.path.includes(of)
    ? { status, json: { error: { code: status, message: 'on purpose', status: 'INTERNAL', details: [] } } }
    : undefined;

test('apply reports everything that the service would reject with positions, and sends no request', async () => {
  const at = await publishedWith('title: A\nfields: [{name: Note, type: text}]\n');
  await at.write('labels/a.yaml', 'title: A\ntype: ADMIN\nfields: [{name: Note, type: user}]\n');
  await at.write('labels/b.yaml', `title: ${'b'.repeat(101)}\n`);
  const ran = await at.run(['apply', '-f', 'labels', ...asJson]);
  expect([ran.code, ran.writes]).toEqual([10, []]);
  expect(ran.error()).toMatchObject({ code: 'PLAN_REFUSED' });
  const places = ran.error().problems.map((one: any) => `${one.file}:${one.line}:${one.column} ${one.path}`);
  expect(places).toEqual([
    'labels/a.yaml:2:1 type',
    'labels/a.yaml:3:23 fields[0].type',
    'labels/b.yaml:1:1 title',
  ]);
});

describe('confirmation of losses', () => {
  const two = 'title: A\nfields: [{name: Note, type: text}, {name: Gone, type: text}]\n';
  const one = 'title: A\nfields: [{name: Note, type: text}]\n';
  test('apply confirms before it deletes a published part, and a declined prompt sends no request', async () => {
    const at = await publishedWith(two);
    await at.write('labels/a.yaml', one);
    const apply = ['apply', '-f', 'labels', '--prune'];
    const no = await at.run(apply, { ...terminal, answers: [false] });
    expect([no.code, no.writes]).toEqual([10, []]);
    expect(no.asked.join()).toContain('Delete field Gone of A? Their values disappear from items');
    expect((await at.run([...apply, '--dry-run'], terminal)).asked).toEqual([]);
    const yes = await at.run(apply, { ...terminal, answers: [true] });
    expect([yes.code, yes.asked.length]).toEqual([0, 1]);
    expect(at.label('A').fields).toHaveLength(1);
  });
  test('apply does not confirm for a draft, or when parts are only disabled', async () => {
    const draft = labelsInMemory({ 'labels/a.yaml': two });
    await draft.run(['apply', '-f', 'labels']);
    await draft.write('labels/a.yaml', one);
    expect((await draft.run(['apply', '-f', 'labels', '--prune'], terminal)).asked).toEqual([]);
    expect(draft.label('A').fields).toHaveLength(1);
    const at = await publishedWith(two);
    await at.write('labels/a.yaml', one);
    expect((await at.run(['apply', '-f', 'labels'], terminal)).asked).toEqual([]);
  });
  test('apply confirms before it removes permissions, with their number', async () => {
    const at = await publishedWith('title: A\n');
    const stays = '{role: EDITOR, email: e@example.com}';
    await at.write(
      'labels/a.yaml',
      `title: A\npermissions: [${stays}, {role: READER, email: r@example.com}]\n`,
    );
    const added = await at.run(['apply', '-f', 'labels'], terminal);
    expect([added.code, added.asked]).toEqual([0, []]);
    await at.write('labels/a.yaml', `title: A\npermissions: [${stays}]\n`);
    const declined = await at.run(['apply', '-f', 'labels'], { ...terminal, answers: [false] });
    expect([declined.code, declined.asked.length, declined.writes]).toEqual([10, 1, []]);
    const removed = await at.run(['apply', '-f', 'labels'], { ...terminal, answers: [true] });
    expect([removed.code, removed.asked.length]).toEqual([0, 1]);
    expect(removed.asked.join()).toEqual(naming('1', 'permissions'));
    const { labelPermissions } = at.send('GET', `/labels/${at.id('A')}/permissions`);
    expect(labelPermissions.map(({ email }: { email: string }) => email)).toEqual(['e@example.com']);
  });
});

describe('failures of one label among several', () => {
  const both = async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\n' });
    await at.run(['apply', '-f', 'labels']);
    for (const name of ['a', 'b'])
      await at.write(`labels/${name}.yaml`, `title: ${name.toUpperCase()}\ndescription: new\n`);
    return at;
  };
  const described = (at: Awaited<ReturnType<typeof both>>) =>
    ['A', 'B'].map((title) => at.label(title).properties.description);
  const apply = ['apply', '-f', 'labels', ...asJson];

  test('a rejected label does not stop the other labels', async () => {
    const at = await both();
    const ran = await at.run(apply, { meanwhile: failing(400, at.id('A')) });
    expect([ran.code, described(at)]).toEqual([9, [undefined, 'new']]);
    expect(ran.json().map((one: any) => one.title)).toEqual(['B']);
    expect(ran.err).toContain('A: ');
  });
  test('a missing sign-in stops the run, which reports the completed labels', async () => {
    const at = await both();
    const ran = await at.run(apply, { meanwhile: failing(401, at.id('B')) });
    expect([ran.code, described(at)]).toEqual([8, ['new', undefined]]);
    expect(ran.error()).toMatchObject({
      code: 'STOPPED',
      message: naming('1', '2', 'labels', 'stopped', 'revision', 'draft'),
      data: { done: [{ id: at.id('A'), title: 'A', revision: '2' }] },
    });
    expect(ran.error().message).toContain(`A: labels/${at.id('A')}, revision 2, draft`);
  });
  test('a run that stops has recorded its completed labels in the lock file', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\n' });
    const ran = await at.run(apply, {
      meanwhile: ({ method, path, body }) =>
        method === 'POST' && path.startsWith('/labels') && body?.properties?.title === 'B'
          ? { status: 401, json: { error: { code: 401, message: 'no', status: 'UNAUTHENTICATED' } } }
          : undefined,
    });
    expect(ran.code).toBe(8);
    const path = 'labels/labels.lock.yaml';
    const { labels } = lockFrom(path, at.read(path) ?? '');
    expect(Object.keys(labels)).toEqual(['a']);
    expect(labels.a?.deployments[ORIGIN]).toMatchObject({ id: at.id('A') });
  });
  test('the ID in the lock file wins over the ID of another deployment in the file', async () => {
    const at = await both();
    await at.run(apply);
    const path = 'labels/labels.lock.yaml';
    // In the other deployment, label A has the ID that label B has here.
    const [lock = '', ofB = ''] = (at.read(path) ?? '').split(/^ {2}b:\n/m);
    const record = ofB.slice(ofB.indexOf(`      "${ORIGIN}"`)).replace(ORIGIN, 'https://other.example');
    await at.write(path, `${lock}${record}`);
    await at.remove('labels/b.yaml');
    await at.write('labels/a.yaml', `title: A\nid: ${at.id('B')}\ndescription: newer\n`);
    const ran = await at.run(apply);
    expect([ran.code, described(at)]).toEqual([0, ['newer', 'new']]);
    expect(ran.writes.every(({ path }) => path.startsWith(`/labels/${at.id('A')}`))).toBe(true);
  });
  test('a failure of the first label is reported as the error itself', async () => {
    const at = await both();
    const ran = await at.run(apply, { meanwhile: failing(401, at.id('A')) });
    expect([ran.code, described(at)]).toEqual([4, [undefined, undefined]]);
  });
  test('a failure of the only label is reported as the error itself', async () => {
    const at = await both();
    const ran = await at.run(['apply', '-f', 'labels/a.yaml', ...asJson], {
      meanwhile: failing(400, at.id('A')),
    });
    expect([ran.code, ran.out]).toEqual([5, '']);
  });
});

describe('a label that another run made at the same time', () => {
  const LOCK = 'labels/labels.lock.yaml';
  const made = async (mine: string, theirs: object, passes = 1000) => {
    const at = labelsInMemory({ 'labels/a.yaml': mine, [LOCK]: 'version: 1\nlabels: {}\n' });
    const ran = await at.run(['apply', '-f', 'labels', '--yes', '--publish', ...asJson], {
      meanwhile: ({ method, path }) => {
        if (method !== 'POST' || !/^\/labels(\?|$)/.test(path)) return;
        at.send('POST', '/labels', { labelType: 'SHARED', ...theirs });
        at.advance(passes);
      },
    });
    const all = at.send('GET', '/labels?view=LABEL_VIEW_FULL').labels;
    return { at, ran, all };
  };
  test(
    'a label that another run created stays, gets the content of the file, and is recorded',
    covers('spec/labels#choices-5'),
    async () => {
      const { at, ran, all } = await made('title: A\ndescription: ours\n', { properties: { title: 'A' } });
      expect(ran.code).toBe(0);
      expect(all).toHaveLength(1);
      const [{ id, properties, lifecycle }] = all;
      expect([properties.description, lifecycle.state]).toEqual(['ours', 'PUBLISHED']);
      expect(ran.json()).toMatchObject([
        {
          id,
          name: `labels/${id}`,
          notes: [expect.anything(), expect.stringContaining(`labels/${id} stays, labels/`)],
        },
      ]);
      expect(ran.err).toContain('was deleted');
      expect(lockFrom(LOCK, at.read(LOCK) ?? '').labels.a?.deployments[ORIGIN]).toMatchObject({ id });
    },
  );
  test('an equal label that another run created gets no request', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\n' });
    const ran = await at.run(['apply', '-f', 'a.yaml', ...asJson], {
      meanwhile: ({ method, path }) => {
        if (method !== 'POST' || !/^\/labels(\?|$)/.test(path)) return;
        at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'A' } });
        at.advance(1000);
      },
    });
    expect(ran.writes.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
    expect(ran.json()).toMatchObject([{ id: at.id('A'), revision: '1', requests: 0, published: false }]);
    expect(at.send('GET', '/labels').labels).toHaveLength(1);
  });
  test(
    'a label that another run creates later makes no difference',
    covers('spec/labels#choices-5'),
    async () => {
      const at = labelsInMemory({ 'a.yaml': 'title: A\n' });
      const ran = await at.run(['apply', '-f', 'a.yaml', ...asJson], {
        meanwhile: ({ method, path }) => {
          if (method !== 'GET' || !path.startsWith('/labels?') || at.id('A') === undefined) return;
          at.advance(1000);
          at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'A' } });
        },
      });
      expect([ran.code, ran.writes.length, ran.json()[0].notes]).toEqual([0, 1, []]);
    },
  );
  test('a label that is not listed under its title stays unchanged', async () => {
    const { ran, all } = await made('title: A\n', { properties: { title: 'B' } });
    expect([ran.code, all.length, ran.json()[0].notes]).toEqual([0, 2, []]);
  });
});

test('a dry run of apply sends no request and reports that', async () => {
  const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
  const ran = await at.run(['apply', '-f', 'labels', '--dry-run'], { tty: ['stdout'] });
  expect([ran.code, ran.writes, ran.written]).toEqual([0, [], []]);
  expect(ran.out).toContain('A: no request was sent (dry run)');
  expect(ran.err).toContain('label A: new');
});

describe('--take theirs', () => {
  const drifted = async () => {
    const at = labelsInMemory({
      'labels/a.yaml': 'title: A\ndescription: ours\n',
      'labels/b.yaml': 'title: B\n',
    });
    await at.run(['apply', '-f', 'labels']);
    await at.run(['adopt', '-f', 'labels']);
    at.edit('A', { description: 'theirs' });
    return at;
  };
  test('writes into the file that would undo something, and into no other', async () => {
    const at = await drifted();
    const ran = await at.run(['apply', '-f', 'labels', '--take', 'theirs']);
    expect([ran.code, at.read('labels/a.yaml')]).toEqual([0, 'title: A\ndescription: theirs\n']);
    expect(ran.written).not.toContain('labels/b.yaml');
    expect(at.label('A').properties.description).toBe('theirs');
  });
  test('--take ours undoes it', async () => {
    const at = await drifted();
    expect((await at.run(['apply', '-f', 'labels'])).code).toBe(10);
    expect((await at.run(['apply', '-f', 'labels', '--take', 'ours'])).code).toBe(0);
    expect(at.label('A').properties.description).toBe('ours');
  });
  test('--take theirs in a dry run reports the changes without a rejection', async () => {
    const at = await drifted();
    const ran = await at.run(['apply', '-f', 'labels', '--take', 'theirs', '--dry-run']);
    expect([ran.code, ran.written, ran.writes]).toEqual([0, [], []]);
    expect(ran.err).toContain('would update description of the label');
    expect((await at.run(['apply', '-f', 'labels', '--dry-run'])).code).toBe(10);
  });
});

test('the lock file has the intent before the first request, and the outcome before the command ends', async () => {
  const at = labelsInMemory({ 'labels/a.yaml': 'title: A\ndescription: one\n' });
  expect((await at.run(['apply', '-f', 'labels', '--yes'])).code).toBe(0);
  await at.run(['adopt', '-f', 'labels']);
  await at.write('labels/a.yaml', 'title: A\ndescription: two\n');
  const effects: string[] = [];
  const change = (host: Host): Host => ({
    ...host,
    files: {
      ...host.files,
      replace: async (path, data, mode) => {
        await pause(100);
        await host.files.replace(path, data, mode);
        effects.push(String(data).includes('applying:') ? 'intent' : 'outcome');
      },
    },
  });
  const ran = await at.run(['apply', '-f', 'labels', '--yes'], {
    change,
    meanwhile: ({ method }) => {
      if (method !== 'GET') effects.push('request');
    },
  });
  expect([ran.code, effects[0], effects.includes('request')]).toEqual([0, 'intent', true]);
  expect(effects.at(-1)).toBe('outcome');
});

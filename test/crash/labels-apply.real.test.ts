import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { type Ran, opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let root: string;
beforeAll(async () => {
  root = makeDirectory();
});

const count = 20;
const title = (n: number): string => `Label ${String(n).padStart(2, '0')}`;
/** Ten existing labels with every kind of change and ten new labels, including states, settings and permissions. */
const before = (n: number): string => `title: ${title(n)}
description: Before
state: published
fields:
  - {name: Note, type: text}
  - {name: Status, type: selection, choices: [Open, Done]}
`;
const after = (n: number): string => {
  const state = n % 5 === 4 ? 'disabled' : 'published';
  const settings = n % 4 === 1 ? 'copyMode: ALWAYS_COPY\nenabledApps: [FILES]\n' : '';
  const permissions = n % 6 === 2 ? `permissions: [{email: reader${n}@example.com, role: READER}]\n` : '';
  return `title: ${n % 7 === 3 ? `${title(n)} renamed` : title(n)}
was: ${title(n)}
description: After
state: ${state}
${settings}${permissions}fields:
  - {name: Status, type: selection, choices: [Done, {name: Open, disabled: ${n % 3 === 0}}, New]}
  - {name: Note, type: text, required: true}
  - {name: Extra, type: user, disabled: ${n % 3 === 1}}
`;
};

type Scene = { readonly server: LabelServer; readonly home: string; readonly directory: string };
const run = ({ server, home }: Scene, host: (host: Host) => Host, ...argv: string[]): Promise<Ran> =>
  opsctl(['labels', ...argv], {
    home,
    host,
    env: { OPSCTL_LABELS_URL: server.mock.origin, OPSCTL_LABELS_TOKEN: 'any-token' },
  });
const alive = (host: Host): Host => host;

/** A server with ten of the labels, and a directory with a lock file and the desired state of all twenty labels. */
const scene = async (name: string): Promise<Scene> => {
  const server = await labelServer();
  const home = join(root, name);
  const directory = join(home, 'labels');
  await mkdir(directory, { recursive: true });
  for (let n = 0; n < count / 2; n++) await writeFile(join(directory, `${n}.yaml`), before(n));
  const made = { server, home, directory };
  await run(made, alive, 'apply', '-f', 'labels');
  await run(made, alive, 'adopt', '-f', 'labels', '--deployment', 'here');
  for (let n = 0; n < count; n++) await writeFile(join(directory, `${n}.yaml`), after(n));
  return made;
};

/** A machine that crashes before it receives the response to its nth write. It makes no more changes to files or requests. */
const dyingAfter = (writes: number, spy: { writes: number }) => {
  let isDead = false;
  const refuse = (): void => {
    if (isDead) throw new Error('this machine is dead');
  };
  return (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      request: async (request) => {
        refuse();
        const reply = await host.network.request(request);
        if (request.method === 'GET') return reply;
        spy.writes += 1;
        if (spy.writes === writes) isDead = true;
        refuse();
        return reply;
      },
    },
    files: {
      ...host.files,
      replace: async (...args) => {
        refuse();
        return host.files.replace(...args);
      },
      create: async (...args) => {
        refuse();
        return host.files.create(...args);
      },
      remove: async (path) => {
        refuse();
        return host.files.remove(path);
      },
    },
  });
};

const shapes = async ({ server }: Scene): Promise<unknown[]> => {
  const { json } = await server.send('GET', '/labels?view=LABEL_VIEW_FULL&pageSize=200');
  const all = await Promise.all(
    json.labels.map(async (label: any) => ({
      title: label.properties.title,
      description: label.properties.description,
      state: label.lifecycle.state,
      pending: label.lifecycle.hasUnpublishedChanges ?? false,
      copyMode: label.appliedLabelPolicy?.copyMode,
      apps: label.enabledAppSettings?.enabledApps,
      permissions: (
        (await server.send('GET', `/labels/${label.id}/permissions`)).json.labelPermissions ?? []
      ).map(({ email, role }: any) => [email, role]),
      fields: label.fields.map((field: any) => ({
        name: field.properties.displayName,
        required: field.properties.required ?? false,
        state: field.lifecycle.state,
        choices: (field.selectionOptions?.choices ?? []).map((choice: any) => [
          choice.properties.displayName,
          choice.lifecycle.state,
        ]),
      })),
    })),
  );
  return all.sort((a, b) => (a.title < b.title ? -1 : 1));
};

const applyArguments = ['apply', '-f', 'labels', '--deployment', 'here', '-o', 'json'];

test('a crash after a write of an apply, then the apply again: the same labels as without the crash, none twice', async () => {
  const reference = await scene('reference');
  const spy = { writes: 0 };
  const whole = await run(reference, dyingAfter(0, spy), ...applyArguments);
  expect([whole.code, whole.code === 0 ? '' : whole.stderr]).toEqual([0, '']);
  const wanted = await shapes(reference);
  expect(wanted).toHaveLength(count);
  await reference.server.close();
  const total = spy.writes;
  // Covers every write in a soak test. Otherwise covers every seventh write and the last write.
  const points = Array.from({ length: total }, (_, i) => i + 1).filter(
    (n) => process.env['OPSCTL_SOAK'] === '1' || n % 7 === 1 || n === total,
  );
  for (const point of points) {
    const one = await scene(`after-${point}`);
    const dead = await run(one, dyingAfter(point, { writes: 0 }), ...applyArguments);
    expect({ point, code: dead.code }).not.toEqual({ point, code: 0 });
    const again = await run(one, alive, ...applyArguments);
    expect({ point, code: again.code, stderr: again.code === 0 ? '' : again.stderr }).toEqual({
      point,
      code: 0,
      stderr: '',
    });
    expect({ point, labels: await shapes(one) }).toEqual({ point, labels: wanted });
    const third = await run(one, alive, ...applyArguments);
    expect(third.json().map((label: any) => label.requests)).toEqual(Array(count).fill(0));
    await one.server.close();
  }
}, 900_000);

test('after a crash between a delta and its record, the next edit is not mistaken for another user’s', async () => {
  const one = await scene('edit-after-crash');
  const dead = await run(one, dyingAfter(1, { writes: 0 }), ...applyArguments);
  expect(dead.code).not.toBe(0);
  const file = join(one.directory, '0.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('After', 'After the crash'));
  const again = await run(one, alive, ...applyArguments);
  expect([again.code, again.code === 0 ? '' : again.stderr]).toEqual([0, '']);
  await one.server.close();
});

test('two applies of the same new labels at the same time leave one of each', async () => {
  const server = await labelServer();
  const scenes = await Promise.all(
    ['ana', 'ben'].map(async (name): Promise<Scene> => {
      const home = join(root, name);
      await mkdir(join(home, 'labels'), { recursive: true });
      for (let n = 0; n < 3; n++) await writeFile(join(home, 'labels', `${n}.yaml`), before(n));
      return { server, home, directory: join(home, 'labels') };
    }),
  );
  // Both runs have found that the label does not exist before either run creates it.
  let waiting: (() => void)[] = [];
  const together = (host: Host): Host => {
    let isFirst = true;
    return {
      ...host,
      network: {
        ...host.network,
        request: async (request) => {
          if (request.method === 'POST' && isFirst) {
            isFirst = false;
            await new Promise<void>((resolve) => {
              waiting.push(resolve);
              if (waiting.length < 2) return;
              for (const go of waiting) go();
              waiting = [];
            });
          }
          return host.network.request(request);
        },
      },
    };
  };
  const both = await Promise.all(
    scenes.map((one) => run(one, together, 'apply', '-f', 'labels', '-o', 'json')),
  );
  expect(both.map(({ code, stderr }) => [code, code === 0 ? '' : stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  const found = await shapes(scenes[0] as Scene);
  expect(found).toMatchObject(
    [0, 1, 2].map((n) => ({ title: title(n), state: 'PUBLISHED', pending: false })),
  );
  const ids = both.map((ran) => ran.json().map((one: any) => one.id));
  expect(ids[0]).toEqual(ids[1]);
  await server.close();
});

test('two applies in one directory at the same time keep both records', async () => {
  const one = await scene('one-directory');
  await cp(join(one.directory, '1.yaml'), join(one.home, 'aside.yaml'));
  const [first, second] = await Promise.all([
    run(one, alive, 'apply', '-f', 'labels/0.yaml', '--deployment', 'here', '-o', 'json'),
    run(one, alive, 'apply', '-f', 'labels/1.yaml', '--deployment', 'here', '-o', 'json'),
  ]);
  expect([first.code, second.code]).toEqual([0, 0]);
  const lock = await readFile(join(one.directory, 'labels.lock.yaml'), 'utf8');
  for (const ran of [first, second]) {
    const [{ id, revision }] = ran.json();
    expect(lock).toMatch(new RegExp(`id: "${id}"\\n +title: .*\\n +revision: "${revision}"`));
  }
  await one.server.close();
});

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { type Surrounding, surrounding } from './around.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding();
});
afterEach(() => at.close());

/** Sends no delta until both editors are ready: every round is a real race for one revision. */
const gate = () => {
  let waiting: (() => void)[] = [];
  const meet = async (): Promise<void> => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length < 2) return;
      for (const go of waiting) go();
      waiting = [];
    });
  };
  return (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      request: async (request) => {
        if (request.url.endsWith(':delta')) await meet();
        return host.network.request(request);
      },
    },
  });
};

const rounds = process.env['OPSCTL_SOAK'] === '1' ? 50 : 10;
test(`${rounds} rounds of two editors on one label lose no change; one of each pair is asked to review`, async () => {
  const first = await at.file(
    'first.yaml',
    'title: Shared\ndescription: a0\nfields: [{name: n0, type: text}]\n',
  );
  expect((await at.run('apply', '-f', first)).code).toBe(0);
  const own = {
    ana: (text: string, round: number) =>
      text.replace(`description: a${round}`, `description: a${round + 1}`),
    ben: (text: string, round: number) => text.replace(`name: n${round}`, `name: n${round + 1}`),
  };
  const names = ['ana', 'ben'] as const;
  const directory = (who: keyof typeof own): string => join(at.directory, who);
  const edited = async (who: keyof typeof own, round: number): Promise<void> => {
    const file = join(directory(who), 'shared.yaml');
    await at.run('export', 'Shared', '-f', directory(who));
    await writeFile(file, own[who](await readFile(file, 'utf8'), round));
  };
  for (const who of names) {
    await mkdir(directory(who));
    await at.run('export', 'Shared', '-f', directory(who));
    expect((await at.run('adopt', '-f', directory(who))).code).toBe(0);
  }
  for (let round = 0; round < rounds; round++) {
    for (const who of names) await edited(who, round);
    const together = gate();
    const [ana, ben] = await Promise.all(
      names.map((who) => at.runOn(together, 'apply', '-f', directory(who))),
    );
    expect([ana?.code, ben?.code].sort()).toEqual([0, 10]);
    const loser = ana?.code === 10 ? 'ana' : 'ben';
    expect(loser === 'ana' ? ana?.stderr : ben?.stderr).toContain('was changed by another user');
    // The same file would undo the other user's change, so the service rejects it until the editor reads the label.
    expect((await at.run('apply', '-f', directory(loser))).code).toBe(10);
    await edited(loser, round);
    expect((await at.run('apply', '-f', directory(loser))).code).toBe(0);
    const { json } = await at.server.send('GET', `/labels/${await at.id('Shared')}?view=LABEL_VIEW_FULL`);
    expect({
      description: json.properties.description,
      name: json.fields[0].properties.displayName,
      count: json.fields.length,
    }).toEqual({
      description: `a${round + 1}`,
      name: `n${round + 1}`,
      count: 1,
    });
  }
});

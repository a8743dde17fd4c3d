import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { type Surrounding, surrounding } from './around.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding();
});
afterEach(() => at.close());

/** Nobody's delta leaves before both are ready: every round is a real race for one revision. */
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

const rounds = 50;
test(`${rounds} rounds of two editors on one label lose no change; one of each pair is told to look again`, async () => {
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
  const edited = async (who: keyof typeof own, round: number): Promise<string> =>
    at.file(`${who}.yaml`, own[who]((await at.run('export', 'Shared')).stdout, round));
  for (let round = 0; round < rounds; round++) {
    const files = { ana: await edited('ana', round), ben: await edited('ben', round) };
    const together = gate();
    const [ana, ben] = await Promise.all([
      at.runOn(together, 'apply', '-f', files.ana),
      at.runOn(together, 'apply', '-f', files.ben),
    ]);
    expect([ana.code, ben.code].sort()).toEqual([0, 10]);
    const loser = ana.code === 10 ? 'ana' : 'ben';
    expect(loser === 'ana' ? ana.stderr : ben.stderr).toContain('changed by somebody else meanwhile');
    // The same file once more would undo the other's change: it is refused again, until the label was looked at.
    expect((await at.run('apply', '-f', files[loser])).code).toBe(10);
    expect((await at.run('apply', '-f', await edited(loser, round))).code).toBe(0);
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
}, 120_000);

import { describe, expect, it } from 'vitest';
import {
  fleetProblems,
  type FleetRow,
  orderOf,
  readFleet,
  runFleet,
} from '../../../../src/kv/upgrade/fleet/fleet-file.ts';
import { realHost } from '../../../support/real-host.ts';

describe('the fleet file', () => {
  it.each([
    ['a list', [], '', 'type'],
    ['an empty file', null, '', 'type'],
    ['a word', 'clusters', '', 'type'],
    ['no clusters', { name: 'x' }, 'clusters', 'required'],
    ['an empty list', { clusters: [] }, 'clusters', 'min'],
    ['an unknown key', { clusters: ['a'], at_onec: 2 }, 'at_onec', 'unknown'],
    ['a cluster twice', { clusters: ['a', 'b', 'a'] }, 'clusters[2]', 'rule'],
    ['a canary that is no cluster', { clusters: ['a'], canary: 'b' }, 'canary', 'enum'],
    ['none at once', { clusters: ['a'], at_once: 0 }, 'at_once', 'min'],
    ['a name of nothing', { clusters: ['a'], name: '' }, 'name', 'min'],
    ['a name of 101 letters', { clusters: ['a'], name: 'x'.repeat(101) }, 'name', 'max'],
    ['a canary of nothing', { clusters: ['a'], canary: '' }, 'canary', 'min'],
    ['a cluster of nothing', { clusters: [''] }, 'clusters[0]', 'min'],
    ['1001 clusters', { clusters: Array.from({ length: 1001 }, (_, i) => `${i}`) }, 'clusters', 'max'],
    ['the first cluster twice', { clusters: ['a', 'a'] }, 'clusters[1]', 'rule'],
    ['more than fifty at once', { clusters: ['a'], at_once: 51 }, 'at_once', 'max'],
  ])('refuses %s', (_, content, path, rule) =>
    expect(fleetProblems(content)).toEqual([expect.objectContaining({ path, rule })]),
  );
  it('names every cluster that is there again', () =>
    expect(fleetProblems({ clusters: ['a', 'b', 'a', 'b', 'a'] }).map(({ path }) => path)).toEqual([
      ...['clusters[2]', 'clusters[3]', 'clusters[4]'],
    ]));
  it.each([1, 50])('a fleet file accepts concurrency %i', (at_once) =>
    expect(fleetProblems({ clusters: ['a'], at_once })).toEqual([]),
  );
  it('takes names of one to a hundred letters, and one to a thousand clusters', () => {
    for (const name of ['x', 'x'.repeat(100)])
      expect(fleetProblems({ clusters: ['a'], name, canary: 'a' })).toEqual([]);
    expect(fleetProblems({ clusters: Array.from({ length: 1000 }, (_, i) => `${i}`) })).toEqual([]);
  });
  it('reads paths relative to itself; the first cluster is the canary unless another is named', async () => {
    const { host, directory, close } = await realHost();
    await host.files.replace(`${directory}/fleet.yaml`, 'clusters: [a.yaml, sub/b.yaml]\n');
    expect(await readFleet(host, 'fleet.yaml')).toEqual({
      name: 'fleet',
      canary: `${directory}/a.yaml`,
      atOnce: 1,
      clusters: [`${directory}/a.yaml`, `${directory}/sub/b.yaml`],
    });
    await expect(readFleet(host, 'none.yaml')).rejects.toMatchObject({
      category: 'config',
      detail: { code: 'NO_FLEET_FILE' },
    });
    await host.files.replace(`${directory}/bad.yaml`, 'clusters: [a\n');
    await expect(readFleet(host, 'bad.yaml')).rejects.toMatchObject({ detail: { code: 'FLEET_FILE' } });
    await close();
  });
});

const rowsOf = async (
  failing: readonly string[],
  atOnce: number,
  mayBegin: (began: number) => boolean = () => true,
) => {
  const [began, most] = [[] as string[], { now: 0, ever: 0 }];
  const upgrade = async (cluster: string) => {
    began.push(cluster);
    most.now += 1;
    most.ever = Math.max(most.ever, most.now);
    await new Promise((resolve) => setImmediate(resolve));
    most.now -= 1;
    return { ok: !failing.includes(cluster), detail: cluster };
  };
  const rows: FleetRow<string>[] = [];
  for await (const row of runFleet(
    { name: 'f', canary: 'c', atOnce, clusters: ['a', 'b', 'c', 'd', 'e'] },
    upgrade,
    () => mayBegin(began.length),
  ))
    rows.push(row);
  return { rows: rows.map(({ cluster, outcome }) => `${cluster} ${outcome}`), began, most: most.ever };
};

describe('a fleet', () => {
  it('a fleet follows its order, the canary first', () =>
    expect(orderOf({ canary: 'b', clusters: ['a', 'b', 'c'] })).toEqual(['b', 'a', 'c']));
  it('a fleet upgrades all clusters, never more in parallel than allowed', async () => {
    expect(await rowsOf([], 2)).toEqual({
      rows: ['c done', 'a done', 'b done', 'd done', 'e done'],
      began: ['c', 'a', 'b', 'd', 'e'],
      most: 2,
    });
  });
  it('a fleet starts no cluster after the canary failed', async () => {
    const { rows, began } = await rowsOf(['c'], 3);
    expect(began).toEqual(['c']);
    expect(rows).toEqual(['c failed', 'a not started', 'b not started', 'd not started', 'e not started']);
  });
  it('the canary is upgraded before all others, for any concurrency', async () => {
    const { began } = await rowsOf(['c'], 50);
    expect(began).toEqual(['c']);
  });
  it('a fleet completes active clusters after a failure and starts no new one', async () => {
    const { rows } = await rowsOf(['a'], 2);
    expect(rows).toEqual(['c done', 'a failed', 'b done', 'd not started', 'e not started']);
  });
  it('a fleet that is asked to stop starts no more clusters', async () => {
    const { rows } = await rowsOf([], 1, (began) => began < 2);
    expect(rows).toEqual(['c done', 'a done', 'b not started', 'd not started', 'e not started']);
  });
});

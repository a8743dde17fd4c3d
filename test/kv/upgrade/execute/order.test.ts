/** The order of effects, as one trace of a whole run: journal lines, driver calls, requests, files and events. */
import { describe, expect, it } from 'vitest';
import { rollBack } from '../../../../src/kv/upgrade/execute/rollback.ts';
import type { SessionInput } from '../../../../src/kv/upgrade/execute/session.ts';
import { type SmallCluster, conducted, smallCluster } from '../../../support/small-cluster.ts';
import { pause } from '../../../support/slow-host.ts';
import { expectInOrder, expectNoneBetween } from '../../../support/trace.ts';
import { brokenStops, inputOf, traceCluster } from '../../../support/traced-cluster.ts';
import { covers } from '../../../support/covers.ts';

const traceOf = async (
  small: SmallCluster,
  patch: Partial<SessionInput> = {},
  isSlow = false,
): Promise<readonly string[]> => {
  const plan = await small.plan();
  const traced = traceCluster(small, undefined, isSlow);
  const named = (event: object): string =>
    'step' in event ? (event.step as { id: string }).id : 'member' in event ? `${event.member}` : '';
  await conducted(small, plan, {
    ...inputOf(small, traced),
    sink: (event) => traced.note(`event ${event.event} ${named(event)}`.trim()),
    ...patch,
  });
  return traced.entries;
};
/** Of one undisturbed upgrade, which the tests read from different sides. */
let whole: Promise<readonly string[]> | undefined;
const upgraded = (): Promise<readonly string[]> => {
  whole ??= traceOf(smallCluster());
  return whole;
};
const journal = (line: string): string => `write journal.jsonl: ${line}`;
const sync = 'sync journal.jsonl';

describe('the order of an upgrade', () => {
  it('both locks are taken before the first line, and released after the reports', async () => {
    const trace = await upgraded();
    expectInOrder(
      trace,
      ...['create lock done', 'POST n1 /v3/kv/txn done', journal('opened'), sync],
      ...[journal('closed done'), sync, 'replace report.json done', 'event run-finished'],
      ...['POST n1 /v3/lease/revoke done', 'remove lock done'],
    );
  });
  it('the keys of the run go before the last line, including keys from before a crash', async () => {
    const small = smallCluster();
    const { id } = await small.plan();
    for (const key of [`opsctl/canary/${id}`, `opsctl/probe/${id}/n2`])
      small.keys.set(key, { value: '1', lease: '', mod: 2, create: 2 });
    let left: string[] | undefined;
    const { append } = small.host.files;
    small.host.files.append = (path, mode) => {
      const file = append(path, mode);
      const write: typeof file.write = (data) => {
        if (String(data).includes('"kind":"closed"')) left = [...small.keys.keys()].filter(isOwn);
        file.write(data);
      };
      return { ...file, write };
    };
    const isOwn = (key: string): boolean => /^opsctl\/(?:canary|probe)\//.test(key);
    await traceOf(small);
    expect(left).toEqual([]);
  });
  it('the progress that other machines read is gone before the kept versions are discarded', async () => {
    const trace = await upgraded();
    const removal = 'POST n1 /v3/kv/deleterange done';
    // The first two remove the keys of the run, the third removes its progress.
    expectInOrder(
      trace.slice(trace.indexOf(journal('end confirm'))),
      ...[removal, removal, removal, 'driver discard n2'],
    );
  });
  it('a run that holds removes its keys before its last line, and shares that line before the reports', async () => {
    const trace = await traceOf(smallCluster(), { confirmCrossing: async () => false }, true);
    const removal = 'POST n1 /v3/kv/deleterange done';
    const closed = trace.indexOf(journal('closed held'));
    expect(trace.slice(0, closed).filter((entry) => entry === removal)).toHaveLength(
      trace.filter((entry) => entry === removal).length,
    );
    expectInOrder(
      trace.slice(closed),
      ...[sync, 'POST n1 /v3/kv/put', 'POST n1 /v3/kv/put done'],
      ...['replace events.ndjson', 'replace report.json done', 'POST n1 /v3/lease/revoke'],
    );
    expectNoneBetween(trace.slice(closed), 'POST n1 /v3/kv/put', 'POST n1 /v3/kv/put done', /^GET|replace/);
  });
  it('the snapshot of a member is complete and recorded before the member stops', async () => {
    const trace = await upgraded();
    for (const name of ['n2', 'n3', 'n1'])
      expectInOrder(
        trace,
        ...[journal(`begin ${name}.snapshot`), sync, `POST ${name} /v3/maintenance/snapshot`],
        ...[`replaceStream test-${name}-20260102T030405Z-1.db done`, journal(`snapshot ${name}`), sync],
        ...[
          journal(`end ${name}.snapshot`),
          sync,
          journal(`begin ${name}.stop`),
          sync,
          `driver stop ${name}`,
        ],
      );
  });
  it('the record of the running version is on disk and shared before the member stops', async () => {
    const trace = await upgraded();
    for (const name of ['n2', 'n3', 'n1']) {
      expectInOrder(
        trace,
        ...[journal(`begin ${name}.stop`), sync, `driver stage ${name} done`, `replace ${name}.json done`],
        ...[journal(`placed ${name}`), sync, `event member-down ${name}`, `driver stop ${name}`],
      );
      // The run writes it to the store, because another machine that takes over must know about the stop.
      const placed = trace.indexOf(journal(`placed ${name}`));
      const stopped = trace.indexOf(`driver stop ${name}`);
      const between = trace.slice(placed, stopped).filter((entry) => /\/v3\/kv\/(put|txn) done$/.test(entry));
      expect(between.length, name).toBeGreaterThan(0);
    }
  });
  it('no member stops before its line is synced and the other members were observed again', async () => {
    expect(brokenStops(await upgraded())).toEqual([]);
  });
  it('the version is selected while the member is down: after its stop and before its start', async () => {
    const trace = await upgraded();
    for (const name of ['n2', 'n3', 'n1'])
      expectInOrder(
        trace,
        ...[`driver stop ${name} done`, journal(`end ${name}.stop`), journal(`begin ${name}.start`), sync],
        ...[journal(`log-marked ${name}`), `driver activate ${name} done`, `driver start ${name}`],
        ...[`driver start ${name} done`, journal(`end ${name}.start`), journal(`begin ${name}.gate`)],
      );
  });
  it(
    'a member passes its health check, and the snapshot of the next one ends, before the next one stops',
    covers('spec/store#procedure-3', 'spec/store#procedure-4'),
    async () => {
      const trace = await upgraded();
      for (const [one, next] of [
        ['n2', 'n3'],
        ['n3', 'n1'],
      ] as const) {
        expectInOrder(
          trace,
          ...[`driver start ${one} done`, `event member-up ${one}`, journal(`end ${next}.snapshot`)],
          ...[journal(`end ${one}.gate`), sync, journal(`begin ${next}.stop`), `driver stop ${next}`],
        );
        expectNoneBetween(trace, `driver stop ${one}`, journal(`end ${one}.gate`), /^driver stop n\d$/);
      }
    },
  );
  it('the leadership moves, and the operator confirms, before the last member stops', async () => {
    expectInOrder(
      await upgraded(),
      ...[journal('end n3.gate'), journal('crossing-confirmed'), sync, journal('begin n1.move-leader'), sync],
      ...['POST n1 /v3/maintenance/transfer-leadership done', journal('end n1.move-leader'), sync],
      ...[journal('begin n1.stop'), 'driver stop n1', journal('end n1.gate'), journal('crossed'), sync],
      ...[journal('begin confirm'), journal('end confirm'), 'driver discard n2', 'driver discard n1 done'],
      ...[journal('closed done'), sync],
    );
  });
});

describe('the order of a rollback', () => {
  const failed = async (which: 'start' | 'sick') => {
    const small = smallCluster();
    if (which === 'start') small.members('n2').startError = 'new';
    else small.members('n2').sick = 'new';
    return traceOf(small);
  };
  it.each(['start', 'sick'] as const)(
    'a member whose new version fails (%s) is journaled as reverting before it stops or changes its version',
    async (which) => {
      const trace = await failed(which);
      expectInOrder(trace, 'driver start n2', journal('reverting n2'), sync, 'driver stop n2');
      expectInOrder(
        trace,
        ...[journal('reverting n2'), 'driver stop n2 done', 'driver activate n2 done', 'driver start n2'],
        ...['driver start n2 done', journal('reverted n2'), sync, 'event reverted n2'],
      );
      expect(trace.filter((entry) => entry === 'driver stop n3')).toEqual([]);
    },
  );
  it('a member that ignores its stop is killed before its old version is selected and started', async () => {
    const small = smallCluster();
    small.members('n2').sick = 'new';
    let killed = false;
    const kill = small.driver.kill.bind(small.driver);
    const activate = small.driver.activate.bind(small.driver);
    const wasKilled: boolean[] = [];
    Object.assign(small.driver, {
      kill: async (...given: Parameters<typeof kill>) => {
        await pause(50);
        await kill(...given);
        killed = true;
      },
      activate: (...given: Parameters<typeof activate>) => {
        if (small.done.some((one) => one === 'activate n2 new')) wasKilled.push(killed);
        else small.members('n2').ignoresStop = true;
        return activate(...given);
      },
    });
    await traceOf(small);
    expect(wasKilled).toEqual([true]);
  });
  it('kv rollback reverts one member after another, each journaled first', async () => {
    const small = smallCluster();
    const stop = new AbortController();
    const first = await small.plan();
    const traced = traceCluster(small);
    await conducted(small, first, {
      ...inputOf(small, traced),
      signal: stop.signal,
      sink: (event) => {
        if (event.event === 'step-started' && event.step.id === 'n1.snapshot')
          stop.abort(new Error('Ctrl-C'));
      },
    }).catch(() => {});
    const back = traceCluster(small);
    await conducted(small, first, { ...inputOf(small, back), action: 'rollback', loop: rollBack });
    expectInOrder(
      back.entries,
      ...[journal('reverting n2'), sync, 'driver stop n2', journal('reverted n2'), sync],
      ...[journal('reverting n3'), sync, 'driver stop n3', journal('reverted n3'), sync],
      ...[journal('closed rolled-back'), sync],
    );
  });
});

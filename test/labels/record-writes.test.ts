/** The entries that `opsctl undo` reads: each is in the record before the next step of its command. */
import { describe, expect, test } from 'vitest';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { loadSettings } from '../../src/config/load.ts';
import { AppError } from '../../src/core/problem.ts';
import { withLabelRecord } from '../../src/labels/record-writes.ts';
import { type Host, NetworkError } from '../../src/platform/host.ts';
import { contextWith } from '../support/context.ts';
import { fakeHost } from '../support/fake-host.ts';
import { pause } from '../support/slow-host.ts';

type Answer = object | Error;
/** Sends the changes one after the other, and returns the entries of the record between the steps. */
const stepsOf = async (
  send: (call: Call) => Promise<unknown>,
  answers: readonly Answer[],
): Promise<string[]> => {
  const base = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
  const steps: string[] = [];
  const append: Host['files']['append'] = (...given) => {
    const file = base.files.append(...given);
    const write: typeof file.write = (data) => {
      const lines = String(data).split('\n');
      steps.push(
        ...lines
          .filter((line) => /^[bdf] /.test(line))
          .map((line) => line.slice(0, line.startsWith('d') ? 99 : 3)),
      );
      file.write(data);
    };
    return { ...file, write };
  };
  const host = { ...base, files: { ...base.files, append } };
  let count = 0;
  const call = async (_: unknown, { method }: { readonly method: string }) => {
    steps.push(method === 'GET' ? 'read' : 'send');
    await pause();
    const answer = answers[count++] ?? {};
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const target = async () => {
    await pause();
    return { baseUrl: 'https://labels.example', headers: {}, isMock: false };
  };
  const lookups = { call, rows: async () => Promise.reject(new Error('no list is read')) };
  const more = {
    host,
    lookups,
    settings: loadSettings(host, {}),
    target,
    call,
    isDryRun: false,
    onEnd: () => {},
  };
  const recorded = withLabelRecord(contextWith(more), 'labels test');
  const { create, delta } = labelsService.table.labels;
  const { batchUpdate } = labelsService.table.permissions;
  const asking = { params: { name: 'labels/A' }, body: {} };
  const changes = { create, delta, batchUpdate };
  await send(async (what) => {
    const input =
      what === 'create'
        ? { body: {} }
        : what === 'delta'
          ? asking
          : { ...asking, params: { parent: 'labels/A' } };
    await recorded.call(labelsService, changes[what], input).catch(() => {});
    steps.push(`after ${what}`);
  });
  return steps;
};
type Call = (what: 'create' | 'delta' | 'batchUpdate') => Promise<void>;
const read = { id: 'A', revisionId: '1', properties: { title: 'A' }, lifecycle: { state: 'PUBLISHED' } };
const refused = new AppError('usage', 'no');
const lost = new NetworkError('RESET', 'the connection was closed', true);

describe('the entries of a change of a label', () => {
  test.each<readonly [string, readonly Answer[], readonly string[]]>([
    ['done', [read, { updatedLabel: { revisionId: '2' } }], ['d 1 - labels/A 2']],
    ['rejected', [read, refused], ['f 1']],
    ['not known to be done', [read, lost], []],
  ])('that is %s', async (_, answers, end) => {
    const steps = await stepsOf((call) => call('delta'), answers);
    expect(steps).toEqual(['read', 'b 1', 'send', ...end, 'after delta']);
  });
  test('a new label has both entries before the command continues', async () => {
    const steps = await stepsOf((call) => call('create'), [{ ...read, revisionId: '5' }]);
    expect(steps).toEqual(['send', 'b 1', 'd 1 - labels/A 5', 'after create']);
  });
  test('a change outside of the definition is noted without a read', async () => {
    const steps = await stepsOf((call) => call('batchUpdate'), [{}]);
    expect(steps.filter((step) => !step.startsWith('d'))).toEqual(['b 1', 'send', 'after batchUpdate']);
  });
  test('a label whose first change was rejected is read and noted again', async () => {
    const steps = await stepsOf(
      async (call) => {
        await call('delta');
        await call('delta');
      },
      [read, refused, read, { updatedLabel: { revisionId: '2' } }],
    );
    expect(steps).toEqual([
      ...['read', 'b 1', 'send', 'f 1', 'after delta'],
      ...['read', 'b 2', 'send', 'd 2 - labels/A 2', 'after delta'],
    ]);
  });
  test('a change that follows a lost one is not noted as the first', async () => {
    const steps = await stepsOf(
      async (call) => {
        await call('delta');
        await call('delta');
      },
      [read, lost, refused],
    );
    expect(steps).toEqual(['read', 'b 1', 'send', 'after delta', 'send', 'after delta']);
  });
  test('a rejected change outside of the definition restores the entry of the definition', async () => {
    const steps = await stepsOf(
      async (call) => {
        await call('delta');
        await call('batchUpdate');
      },
      [read, { updatedLabel: { revisionId: '2' } }, refused],
    );
    expect(steps).toEqual([
      ...['read', 'b 1', 'send', 'd 1 - labels/A 2', 'after delta'],
      ...['b 1', 'send', 'b 1', 'after batchUpdate'],
    ]);
  });
});

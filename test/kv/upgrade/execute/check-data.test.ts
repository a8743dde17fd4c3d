import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { checkData } from '../../../../src/kv/upgrade/execute/steps.ts';
import { MemberFailure } from '../../../../src/kv/upgrade/run.ts';
import type { Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost, type Ran } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { covers } from '../../../support/covers.ts';

const step = {
  id: 'n2.check-data',
  kind: 'check-data',
  member: 'n2',
  title: '',
  why: '',
  commands: [],
} as Step;
const check = (answer: {
  readonly code: number | null;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly startError?: string;
}) => {
  const ran: Ran[] = [];
  const host = fakeHost({
    run: (one) => {
      ran.push(one);
      return answer;
    },
  });
  const run = runOn(host, { cluster: clusterFile(3, { utl_binary: '/opt/etcdutl' }) });
  return { ran, done: checkData(run, step) };
};

describe('v2 data in the directory of a stopped member', () => {
  it.each([
    ['No custom content found in v2store.', 'snapshot'],
    ['No custom content found in both v2store and WAL records', 'snapshot and log'],
  ])('none: %s', async (stdout, looked) => {
    const { ran, done } = check({ code: 0, stdout });
    expect(await done).toEqual({ v2_data: 'none', looked_into: looked });
    expect(ran[0]?.args.slice(0, 3)).toEqual(['check', 'v2store', '--data-dir']);
  });
  it.each([
    ['some', { code: 1, stderr: 'Error: detected custom v2 content in WAL records' }, 'n2 has v2 data'],
    [
      'a program without this check',
      { code: 1, stderr: 'unknown command "check" for "etcdutl"' },
      'cannot determine whether it has v2 data',
    ],
    [
      'a help text with exit code 0',
      { code: 0, stdout: 'Usage: etcdutl' },
      'cannot determine whether it has v2 data',
    ],
    ['no program', { code: null }, 'cannot determine whether it has v2 data'],
  ])('%s: the member gets the running version back', async (_, answer, reason) => {
    const error = await check(answer).done?.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MemberFailure);
    expect((error as unknown as Error).message).toContain(reason);
  });
  it.each([
    [
      'what it said last, on either stream',
      { code: 1, stdout: 'early', stderr: 'first\n  last \n\n' },
      'last',
    ],
    ['the whole line where there is one', { code: 1, stdout: ' only \n' }, 'only'],
    ['why it could not be started, where it said nothing', { code: null, startError: 'ENOENT' }, 'ENOENT'],
    ['that it said nothing', { code: 1, stderr: ' \n' }, 'no response'],
  ])('the reason has %s', async (_, answer, line) => {
    await expect(check(answer).done).rejects.toMatchObject({
      ...{ member: 'n2', message: `n2: cannot determine whether it has v2 data: ${line}` },
    });
  });
  it('valid output does not count if the program failed', async () => {
    const { done } = check({ code: 1, stdout: 'No custom content found in v2store.' });
    await expect(done).rejects.toThrow('v2 data: No custom content found');
  });
  it('the program has two minutes', covers('limit/checkOutputBytes'), async () => {
    const { ran, done } = check({ code: 0, stdout: 'No custom content found in v2store.' });
    await done;
    expect(ran[0]?.options).toMatchObject({ timeoutMs: 120_000, maxBytes: limits.checkOutputBytes });
  });
});

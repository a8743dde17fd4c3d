import { describe, expect, it } from 'vitest';
import type { AppError } from '../../../src/core/problem.ts';
import { versionTable } from '../../../src/api-specs/etcd/versions.ts';
import { readPlan, refusalError } from '../../../src/kv/upgrade/plan-kind.ts';
import { acceptable } from '../../../src/kv/upgrade/guards/guard.ts';
import { acceptedGuards, planOptions as optionsFrom } from '../../../src/kv/upgrade/plan.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { clusterFile, planOptions, planned } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';

describe('a plan in a file', () => {
  const plan = planned();
  const read = (given: unknown, name = 'plan.json') =>
    readPlan(
      fakeHost({ files: { '/place/plan.json': typeof given === 'string' ? given : JSON.stringify(given) } }),
      name,
    );

  it('a plan file is read back unchanged', async () => {
    expect(await read(plan)).toEqual(JSON.parse(JSON.stringify(plan)));
    const options = {
      ...plan.options,
      to: '3.4',
      hold_after: 1,
      stable_before_last_seconds: 3,
      accept: ['a'],
    };
    expect((await read({ ...plan, options })).options).toEqual(options);
  });

  it.each<[string, Record<string, unknown>]>([
    ['another format', { format: 2 }],
    ['no digest', { digest: 7 }],
    ['no options', { options: undefined }],
    ...Object.entries({
      accept: 'all',
      copy_data: 'yes',
      hold_last: 1,
      stable_seconds: '1',
      to: 3.4,
      hold_after: '1',
      stable_before_last_seconds: '10',
    }).map(([name, value]): [string, Record<string, unknown>] => [
      `options with ${name} = ${JSON.stringify(value)}`,
      { options: planOptions({ [name]: value }) },
    ]),
    ['a name that is no text', { options: planOptions({ accept: [7] as never }) }],
  ])('a plan with %s is invalid', async (_, patch) => {
    await expect(read({ ...plan, ...patch })).rejects.toMatchObject({
      category: 'usage',
      message: '--plan: plan.json is not a plan',
    });
  });

  it('an invalid JSON plan, or a missing one, is a usage error', async () => {
    await expect(read('{')).rejects.toThrow('plan.json is not a plan');
    await expect(read(plan, 'other.json')).rejects.toThrow('--plan: file not found: other.json');
  });
});

describe('input of a plan', () => {
  it('flags win over the cluster file, and both over what is usual', () => {
    const given = { accept: [] };
    expect(optionsFrom(given, clusterFile(), undefined)).toEqual({
      ...{
        copy_data: false,
        hold_last: false,
        stable_seconds: 1,
        stable_before_last_seconds: 10,
        accept: [],
      },
    });
    const file = clusterFile(3, { timeouts: { stable_seconds: 4, stable_before_last_seconds: 5 } });
    expect(optionsFrom(given, file, undefined)).toMatchObject({
      ...{ stable_seconds: 4, stable_before_last_seconds: 5 },
    });
    const flags = {
      ...{ accept: ['quota'], to: '3.5', 'copy-data': true, 'hold-last': true, 'hold-after': 1 },
      ...{ 'stable-for': 0, 'stable-before-last': 0 },
    };
    expect(optionsFrom(flags, file, versionTable)).toEqual({
      ...{ versions: versionTable, to: '3.5', copy_data: true, hold_last: true, hold_after: 1 },
      ...{ stable_seconds: 0, stable_before_last_seconds: 0, accept: ['quota'] },
    });
    const simulated = clusterFile(3, { simulated: true });
    expect(optionsFrom(given, simulated, undefined).stable_before_last_seconds).toBe(2);
  });

  it('guards are accepted by their names, and only those that may be', () => {
    const reason = (name: string, allowed?: readonly string[]): unknown => {
      try {
        acceptedGuards([name], allowed);
      } catch (error) {
        return (error as AppError).detail.problems?.[0]?.message;
      }
      return undefined;
    };
    expect(acceptedGuards()).toEqual([]);
    expect(acceptedGuards(['quota', 'all-members-healthy'])).toEqual(['quota', 'all-members-healthy']);
    expect(reason('version-path')).toBe(
      'version-path cannot be accepted: the upgrade would damage the cluster',
    );
    expect(reason('versionpath')).toBe('versionpath is not a guard');
    expect(reason('version-path', [...acceptable, 'one-cluster'])).toBe(reason('version-path'));
    for (const name of ['configuration-fits', 'version-path'])
      expect(reason(name, ['one-cluster'])).toEqual(
        expect.not.stringMatching(/upgrade|damage|is not a guard$/),
      );
  });
});

it('a refusal has its first reason, the number of the others, and all of them as problems', () => {
  const one = { guard: 'no-alarms', level: 'fail', message: 'alarm', hint: 'look' } as const;
  const error = refusalError({ refused: [one], findings: [one] }, (hint) => [`do: ${hint}`]);
  expect(error).toMatchObject({
    category: 'unsafe',
    message: naming('alarm'),
    detail: { code: 'NO_ALARMS', problems: [], tryThis: ['do: look'] },
  });
  const two = refusalError({ refused: [one, { ...one, guard: 'quota' }], findings: [] }, () => []);
  expect(two.message).toEqual(naming('alarm', '1'));
  expect(two.detail.problems?.map(({ path }) => path)).toEqual(['no-alarms', 'quota']);
  const none = refusalError({ refused: [], findings: [] }, () => []);
  expect([none.message, none.detail.code]).toEqual([naming('changes', 'made', 'guard'), 'REFUSED']);
});

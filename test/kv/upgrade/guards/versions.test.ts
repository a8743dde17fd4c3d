import { describe, expect, it } from 'vitest';
import type { VersionTable } from '../../../../src/api-specs/etcd/versions.ts';
import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import type { Finding, HostFacts, Observation } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';

const supplied: VersionTable = {
  data_of: '2026-12-01',
  minors: [{ minor: '3.4', latest: '3.4.46' }],
  rules: [
    {
      from: '3.4.44',
      through: '3.4.46',
      on: 'arrive',
      level: 'fail',
      reason: 'loses the last write of a lease',
      instead: '3.4.43',
      source: 'https://example.com/lost-write',
    },
  ],
};
const findings = (
  from: string,
  to: string,
  options: { readonly versions?: VersionTable; readonly accept?: string[] } = {},
  host: HostFacts | undefined = seen('n1').host,
  patch: Partial<Observation> = {},
): Finding[] =>
  findingsOf({
    observation: observed(
      [seen('n1', { server_version: from, host: { ...host, new_binary_version: to } })],
      patch,
    ),
    cluster: clusterFile(1),
    options: planOptions(options),
    from: from.slice(0, 3) as never,
    to: to.slice(0, 3) as never,
  });
const levels = (guard: string, all: readonly Finding[]): string[] =>
  all.filter((one) => one.guard === guard).map(({ level }) => level);

describe('the guards that go by it', () => {
  it('a version below the hard minimum cannot be accepted', covers('guard/least-versions'), () => {
    expect(levels('least-versions', findings('3.5.25', '3.6.14'))).toEqual(['fail']);
    const accepted = findings('3.5.25', '3.6.14', { accept: ['least-versions', 'known-versions'] });
    expect(levels('least-versions', accepted)).toEqual(['fail']);
  });
  it('between the minimum and what is recommended it warns', () => {
    expect(levels('least-versions', findings('3.5.26', '3.6.14'))).toEqual(['pass']);
    expect(levels('known-versions', findings('3.5.31', '3.6.14'))).toEqual(['warn']);
    expect(levels('known-versions', findings('3.5.32', '3.6.14'))).toEqual(['pass']);
  });
  it('a version newer than the data is unknown, not good', () =>
    expect(levels('known-versions', findings('3.5.33', '3.6.99'))).toEqual(['unknown']));
  it.each([
    ['3.4.12', 0o755, 'fail', {}],
    ['3.4.12', 0o500, 'fail', {}],
    ['3.4.12', 0o2700, 'warn', {}],
    ['3.4.13', 0o755, 'warn', {}],
    ['3.4.12', undefined, 'unknown', {}],
    ['3.4.12', 0o700, 'unknown', undefined],
    ['3.4.12', 0o700, 'fail', { 'member/snap': 0o755 }],
    ['3.3.24', 0o700, 'pass', { 'member/snap': 0o700 }],
    ['3.4.10', 0o700, 'fail', { member: 0o750, 'member/snap': 0o700 }],
    ['3.4.12', 0o700, 'warn', {}],
  ] as const)('%s with a data directory of mode %s: %s', (to, mode, level, modes) => {
    const { data_place, ...host } = seen('n1').host ?? {};
    const place = { path: '/d', real: '/d', exists: true, beside: { path: '/', is_writable: true } };
    const inner = modes === undefined ? {} : { inner_modes: modes };
    const known =
      mode === undefined ? host : { ...host, data_place: { ...place, ...data_place, mode, ...inner } };
    expect(levels('known-versions', findings('3.3.25', to, {}, known))).toContain(level);
    expect(levels('known-versions', findings('3.3.25', to, {}, known)).includes('fail')).toBe(
      level === 'fail',
    );
  });
  it.each([
    [true, ['fail']],
    [false, []],
    [undefined, ['unknown']],
  ] as const)('3.4.3 panics at users of 3.3: with authentication %s, the levels are %j', (is_on, wanted) => {
    const all = findings('3.3.25', '3.4.3', {}, undefined, { auth: { is_on } });
    expect(all.flatMap((one) => (one.message.includes('issues/11405') ? one.level : []))).toEqual(wanted);
  });
  it('a supplied file replaces what is built in', () => {
    const versions = supplied;
    expect(levels('known-versions', findings('3.3.25', '3.4.45', { versions }))).toEqual(['fail']);
    expect(levels('known-versions', findings('3.3.25', '3.4.43', { versions }))).toEqual(['pass']);
  });
});

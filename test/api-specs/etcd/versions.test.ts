import { describe, expect, it } from 'vitest';
import {
  compareVersions,
  minorOf,
  nextMinor,
  rowOf,
  versionRows,
} from '../../../src/api-specs/etcd/versions.ts';
import { covers } from '../../support/covers.ts';

describe('versions of the store', () => {
  it.each([
    ['3.3.25', '3.3'],
    ['v3.4.0', '3.4'],
    ['3.5', '3.5'],
    ['3.5.0-rc.1', '3.5'],
    ['3.10.2', '3.10'],
    ['not_decided', undefined],
    ['', undefined],
    [undefined, undefined],
    ['3.4.5.6', undefined],
  ])('%s is of %s', (text, minor) => {
    expect(minorOf(text)).toBe(minor);
  });
  it.each([
    ['3.2.31', '3.2.9', 1],
    ['3.10.0', '3.9.9', 1],
    ['3.3', '3.3.0', 0],
    ['3.2.30', '3.2.31', -1],
  ])('%s against %s', (left, right, sign) => {
    expect(Math.sign(compareVersions(left, right))).toBe(sign);
  });
  it(
    'every row leads to the next, and the last row has no successor',
    covers('spec/program#choices-12'),
    () => {
      expect(versionRows.map(({ minor }) => nextMinor(minor))).toEqual([
        '3.3',
        '3.4',
        '3.5',
        '3.6',
        '3.7',
        undefined,
      ]);
      expect(nextMinor('2.3')).toBeUndefined();
    },
  );
  it('spec/store#versions-3: /v3alpha until 3.3, not in 3.4; every row uses a supported prefix', () => {
    expect(
      versionRows.filter(({ answers }) => answers.includes('/v3alpha')).map(({ minor }) => minor),
    ).toEqual(['3.2', '3.3']);
    for (const { prefix, answers } of versionRows) expect(answers).toContain(prefix);
    expect(rowOf('3.3.27')?.prefix).toBe('/v3beta');
  });
});

import { expect, test } from 'vitest';
import { rateStoreSetting } from '../../src/cli/options.ts';
import { errorWith } from '../support/facts.ts';

const given = (value: string) => ({ value, origin: 'OPSCTL_RATE_STORE' });

test('a store is the address of a server, and its share a number', () => {
  expect(rateStoreSetting(undefined, given('4'))).toBeUndefined();
  expect(rateStoreSetting(given('redis://h:6379/1'), given('4'))).toMatchObject({ share: 4 });
  expect(rateStoreSetting(given('etcd://h:2379'), undefined)?.url.host).toBe('h:2379');
  for (const wrong of ['h:6379', 'http://h', 'redis://', 'not an address'])
    expect(() => rateStoreSetting(given(wrong), undefined)).toThrow(
      errorWith('RATE_STORE', 'address', 'server'),
    );
  expect(() => rateStoreSetting(given('redis://h'), given('0'))).toThrow(
    errorWith('RATE_STORE', 'rate_share', 'from 1', '"0"'),
  );
  expect(() => rateStoreSetting(given('redis//:pass-w0rd@h'), undefined)).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining('pass-w0rd') }),
  );
});

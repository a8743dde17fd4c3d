import { expect, test } from 'vitest';
import { elapsedMs, type Instant, instantFrom } from '../../src/auth/auth-context.ts';
import { type Account, accountFrom, isFresh, lifeLeftMs } from '../../src/auth/credential-store/account.ts';

const hour = 3_600_000;
const boot = (ms: number, id = 'boot-1') => ({ id, ms });
const owner = {
  name: 'ada',
  signIn: 's1',
  server: 's',
  endpoints: { authorize: 'a', token: 't', revoke: 'r' },
  clientId: 'c',
};
const at = (wallMs: number, bootMs?: number, id?: string): Instant =>
  bootMs === undefined ? { wallMs } : { wallMs, boot: boot(bootMs, id) };
const account = (asked: Instant): Account =>
  accountFrom(owner, { accessToken: 'a', expiresInS: 3600 }, [], asked);

const noon = 12 * hour;
test.each<[string, Instant, Instant, number]>([
  ['nothing happened', at(noon, hour), at(noon + 60_000, hour + 60_000), hour - 60_000],
  ['the clock was put back by 40 minutes', at(noon, hour), at(noon + 600_000, hour + 3_000_000), 600_000],
  ['the clock was a day ahead at the sign-in', at(noon + 24 * hour, hour), at(noon, 3 * hour), -hour],
  ['the clock was put forward', at(noon, hour), at(noon + 2 * hour, hour + 60_000), -hour],
  ['the machine slept for two hours', at(noon, hour), at(noon + 2 * hour, 3 * hour), -hour],
  [
    'it was restarted, and the clock went on',
    at(noon, hour),
    at(noon + 600_000, 5000, 'boot-2'),
    hour - 600_000,
  ],
  ['it was restarted, and the clock was put back', at(noon, hour), at(noon - 5, 5000, 'boot-2'), 0],
  ['another system, the clock went back', at(noon), at(noon - 1), 0],
])('%s: the rest of an hour is never overstated', (_, asked, now, left) => {
  expect(lifeLeftMs(account(asked), now)).toBe(left);
  expect(isFresh(account(asked), now, 2 * hour)).toBe(false);
});

test('a credential of a version without the boot clock counts by the wall clock', () => {
  const { obtainedBoot, ...old } = account(at(noon));
  expect(lifeLeftMs(old as Account, at(noon + 60_000, 5))).toBe(hour - 60_000);
});

test('the boot time is read from the system, and a missing one is undefined', () => {
  expect(instantFrom(1, 'b\n', '12.34 56.78\n')).toEqual({ wallMs: 1, boot: { id: 'b', ms: 12_340 } });
  expect(instantFrom(1, undefined, '12.34')).toEqual({ wallMs: 1 });
  expect(instantFrom(1, 'b', 'nonsense')).toEqual({ wallMs: 1 });
  expect(elapsedMs({ wallMs: 5 }, { wallMs: 4, boot: boot(9) })).toBeUndefined();
});

import { test } from 'vitest';
import { type Account, withAccount } from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import type { Host } from '../../../src/platform/host.ts';
import {
  aSecretFileIsReadableByItsOwnerOnly,
  aSecretIsNowhereInPlainText,
  whatWasAcknowledgedIsKept,
} from '../../simulator/invariants.ts';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { expectInOrder, traceHost } from '../../support/trace.ts';
import { memoryAuthContext } from '../auth-context.ts';

const origin = 'http://127.0.0.1:9';
const accountOf = (host: Host, n: number): Account => ({
  ...{ name: 'ada', generation: 0, signIn: 'first', server: origin, clientId: 'client-1', subject: 'ada' },
  endpoints: { authorize: `${origin}/auth`, token: `${origin}/token`, revoke: `${origin}/revoke` },
  ...{ requested: ['a'], granted: ['a'], obtainedMs: host.now(), refreshToken: `refresh-token-of-ada-${n}` },
});
type Ledger = { tried: number; acknowledged: number };
const swapTwice = async (host: Host, ledger: Ledger, times = 2): Promise<void> => {
  for (let i = 0; i < times; i += 1) {
    ledger.tried += 1;
    const account = accountOf(host, ledger.tried);
    await openCredentialStore(memoryAuthContext(host)).swap((data) => ({ data: withAccount(data, account) }));
    ledger.acknowledged = ledger.tried;
  }
};

test('the lock is held while the credentials change, and the key exists before them', async () => {
  const traced = traceHost(fakeHost({ env: { OPSCTL_KEYCHAIN: 'never' } }));
  await swapTwice(traced.host, { tried: 0, acknowledged: 0 });
  const { entries } = traced;
  expectInOrder(
    entries,
    ...['create credentials.lock done', 'replace credentials.key done', 'replace credentials.json'],
    ...[
      'replace credentials.json done',
      'replace accounts',
      'replace accounts done',
      'remove credentials.lock',
    ],
    ...['create credentials.lock done', 'replace credentials.json done', 'replace accounts done'],
    'remove credentials.lock done',
  );
});

test('the store survives the failure of each effect: it keeps what was acknowledged, encrypted and private', async () => {
  await expectEachEffectMayFail(async (fault) => {
    const disk = fakeHost({ env: { OPSCTL_KEYCHAIN: 'never' } });
    const traced = traceHost(disk, { fault });
    const ledger = { tried: 0, acknowledged: 0 };
    const next: Host = {
      ...disk,
      pid: disk.pid + 1,
      processes: { ...disk.processes, isAlive: (pid) => pid === disk.pid + 1 },
    };
    return {
      start: () => ({ traced, result: swapTwice(traced.host, ledger) }),
      check: async () => {
        const { acknowledged, tried } = ledger;
        const numberNow = async (): Promise<number> => {
          const { accounts } = await openCredentialStore(memoryAuthContext(next)).read();
          return Number(
            accounts
              .find(({ name }) => name === 'ada')
              ?.refreshToken?.split('-')
              .at(-1) ?? 0,
          );
        };
        const found = await numberNow();
        const last = await swapTwice(next, ledger, 1).then(numberNow, (error: unknown) =>
          String((error as Error).stack),
        );
        const files = new Map(Object.entries(disk.files.all()));
        return [
          ...whatWasAcknowledgedIsKept('ada', acknowledged, tried, found),
          ...(last === ledger.tried ? [] : [`the next sign-in: ${last}`]),
          ...[...files.keys()].flatMap((path) =>
            aSecretFileIsReadableByItsOwnerOnly(path, disk.files.mode(path)),
          ),
          ...aSecretIsNowhereInPlainText(['refresh-token-of'], files),
        ];
      },
    };
  }, 15);
});

/** Several commands sign in, refresh and sign out in one credential store. */
import type { AuthContext } from '../../../src/auth/auth-context.ts';
import { type Account, withAccount } from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import type { Host } from '../../../src/platform/host.ts';
import { type History, type Operation, breakDisk } from '../history.ts';
import {
  aSecretFileIsReadableByItsOwnerOnly,
  aSecretIsNowhereInPlainText,
  afterACrashTheNextCommandSucceeds,
  whatWasAcknowledgedIsKept,
} from '../invariants.ts';
import { HOME } from '../kernel/machine.ts';
import { filesBelow } from '../kernel/look.ts';

const STATE = `${HOME}/state`;
const contextOn = (host: Host): AuthContext => ({
  host,
  settings: {
    profile: { name: 'mock', origin: 'default' },
    directories: { config: STATE, state: STATE, cache: STATE },
    get: () => undefined,
  },
  log: { info() {}, warn() {}, warnOnce() {}, debug() {}, hide() {} },
  signal: new AbortController().signal,
  target: () => Promise.reject(new Error('no embedded server')),
});
const origin = 'http://127.0.0.1:9';
const token = (name: string, n: number): string => `refresh-token-of-${name}-${n}`;
const accountOf = (host: Host, name: string, n: number): Account => ({
  ...{ name, generation: 0, signIn: 'first', server: origin, clientId: 'client-1', subject: name },
  endpoints: { authorize: `${origin}/auth`, token: `${origin}/token`, revoke: `${origin}/revoke` },
  ...{ requested: ['a'], granted: ['a'], obtainedMs: host.now() },
  refreshToken: token(name, n),
});

type Ledger = Map<string, { tried: number; acknowledged: number }>;
const refresh =
  ({ desk }: History, ledger: Ledger, name: string, times: number) =>
  async (host: Host, process: { isDead: boolean }): Promise<void> => {
    const entry = ledger.get(name) ?? { tried: 0, acknowledged: 0 };
    ledger.set(name, entry);
    for (let i = 0; i < times; i += 1) {
      entry.tried += 1;
      const n = entry.tried;
      const wanted = accountOf(host, name, n);
      await openCredentialStore(contextOn(host)).swap((data) => ({ data: withAccount(data, wanted) }));
      if (!process.isDead && desk.name !== '') entry.acknowledged = n;
    }
  };
const numberOf = (account: Account | undefined): number | undefined =>
  account?.refreshToken === undefined ? undefined : Number(account.refreshToken.split('-').at(-1));

export const credentialStore: Operation = {
  name: 'credential store',
  run: async (history) => {
    const { kernel, act, calm, desk } = history;
    const ledger: Ledger = new Map();
    breakDisk(history);
    for (let round = 0; round < 2; round += 1) {
      const names = history.plan.isRough
        ? ['ada', 'bob', 'cleo'].slice(0, 1 + kernel.random.below(3))
        : ['ada'];
      await kernel.until(Promise.all(names.map((name) => act(name, refresh(history, ledger, name, 2)))));
    }
    calm();
    const last = await kernel.until(act('afterwards', refresh(history, ledger, 'dora', 1)));
    const read = await kernel.until(act('reader', (host) => openCredentialStore(contextOn(host)).read()));
    const files = filesBelow(desk.disk, STATE);
    const accounts = read.kind === 'done' ? read.value.accounts : [];
    return [
      ...afterACrashTheNextCommandSucceeds('a sign-in', last),
      ...(read.kind === 'done' ? [] : afterACrashTheNextCommandSucceeds('reading', read)),
      ...[...ledger].flatMap(([name, { acknowledged, tried }]) =>
        whatWasAcknowledgedIsKept(
          name,
          acknowledged,
          tried,
          numberOf(accounts.find((one) => one.name === name)),
        ),
      ),
      ...[...files.keys()].flatMap((path) =>
        aSecretFileIsReadableByItsOwnerOnly(path, desk.disk.find(path)?.mode),
      ),
      ...aSecretIsNowhereInPlainText(['refresh-token-of'], files),
    ];
  },
};

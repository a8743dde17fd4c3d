/** The order of the effects of a refresh, a sign-in and a sign-out, as one trace: lock, requests and files. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { instantNow } from '../../src/auth/auth-context.ts';
import { keepAccount } from '../../src/auth/complete-login.ts';
import { type Account, accountFrom } from '../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { signInWithDevice } from '../../src/auth/methods/device.ts';
import { renewAccount } from '../../src/auth/renew.ts';
import { signOut } from '../../src/auth/issued-tokens.ts';
import type { Host, HttpRequest } from '../../src/platform/host.ts';
import { type Bed, type MakeBed, expectEachEffectMayFail } from '../support/failing-effects.ts';
import { type FakeHost, fakeHost, type ScriptedReply } from '../support/fake-host.ts';
import { withPatience } from '../support/small-cluster.ts';
import { brokenIfSlow } from '../support/slow-host.ts';
import { type Fault, type Traced, expectInOrder, traceHost } from '../support/trace.ts';
import { aSecretIsNowhereInPlainText } from '../simulator/invariants.ts';
import { memoryAuthContext } from './auth-context.ts';

const origin = 'http://127.0.0.1:9';
const endpoints = {
  ...{ authorize: `${origin}/auth`, token: `${origin}/token` },
  ...{ revoke: `${origin}/revoke`, device: `${origin}/device` },
};
type World = {
  readonly disk: FakeHost;
  /** Access tokens in the order in which the server issued them. */
  readonly issued: string[];
  readonly revoked: string[];
  /** Duration of a response of the token endpoint in milliseconds. */
  slowMs: number;
  revoke: (token: string) => ScriptedReply;
  token: (request: HttpRequest) => ScriptedReply;
};
/** A machine without credentials, and a server that keeps one refresh token for the sign-in. */
const makeWorld = (): World => {
  const issued: string[] = [];
  const revoked: string[] = [];
  const tokens = (): ScriptedReply => {
    issued.push(`access-token-${issued.length + 1}`);
    const body = { access_token: issued.at(-1), refresh_token: 'refresh-token-1', expires_in: 3600 };
    return { body: { ...body, token_type: 'Bearer', scope: 'a' } };
  };
  const world: World = {
    ...{ issued, revoked, slowMs: 0, token: tokens, revoke: () => ({ body: {} }) },
    disk: withPatience(
      fakeHost({
        env: { OPSCTL_KEYCHAIN: 'never' },
        reply: (request) => {
          const { pathname, searchParams } = new URL(request.url);
          const form = new URLSearchParams(String(request.body ?? ''));
          if (pathname === '/revoke') revoked.push(searchParams.get('token') ?? form.get('token') ?? 'none');
          if (pathname === '/revoke') return world.revoke(revoked.at(-1) ?? '');
          if (pathname === '/device')
            return {
              body: { device_code: 'd', user_code: 'U', verification_uri: `${origin}/go`, interval: 5 },
            };
          if (pathname !== '/token') return { status: 404 };
          world.disk.advance(world.slowMs);
          return world.token(request);
        },
      }),
    ),
  };
  return world;
};
const signIn = async ({ disk }: World): Promise<Account> => {
  const owner = { name: 'ada', signIn: 's', server: origin, endpoints, clientId: 'c', subject: 'ada' };
  const context = memoryAuthContext(disk);
  const answer = { accessToken: 'access-token-0', refreshToken: 'refresh-token-1', expiresInS: 3600 };
  return keepAccount(context, accountFrom(owner, answer, ['a'], instantNow(disk)));
};
const traced = ({ disk }: World, fault?: Fault): Traced =>
  traceHost(disk, { fault, isSlow: fault === undefined });
const renew = (host: Host, seen: Account, signal?: AbortSignal): Promise<Account> =>
  renewAccount(memoryAuthContext(host, signal === undefined ? {} : { signal }), seen, {
    ...{ minTtlMs: 60_000, force: true },
  });
const lockName = `refresh-${createHash('sha256').update('ada').digest('hex').slice(0, 16)}.lock`;

describe('the order of a refresh', () => {
  const refreshed = async (prepare: (world: World) => void = () => {}) => {
    const world = makeWorld();
    const seen = await signIn(world);
    prepare(world);
    const trace = traced(world);
    const result = await renew(trace.host, seen).catch((error: unknown) => error);
    trace.note('the command ends');
    return { world, result, trace: trace.entries };
  };
  it('the lock is held from before the request until the new tokens are on disk', async () => {
    const { trace } = await refreshed();
    expectInOrder(
      trace,
      ...[`create ${lockName} done`, 'POST /token', 'POST /token done', 'create credentials.lock done'],
      ...['replace credentials.json done', 'replace accounts', 'replace accounts done'],
      ...['remove credentials.lock done', `remove ${lockName} done`, 'the command ends'],
    );
  });
  it('waiting processes find the outage before they can take the lock', async () => {
    const { trace, result } = await refreshed((world) => {
      world.token = () => ({ status: 500, body: {} });
    });
    expect(result).toMatchObject({ category: 'network' });
    expectInOrder(
      trace,
      ...['POST /token done', `replace ${lockName.replace('.lock', '.failed')} done`],
      ...[`remove ${lockName}`, `remove ${lockName} done`, 'the command ends'],
    );
  });
  it('a refresh sends the refresh token that another process stored in the meantime', async () => {
    const world = makeWorld();
    const seen = await signIn(world);
    // The other process received a token that expires too soon for this one.
    const answer = { accessToken: 'access-token-0b', refreshToken: 'refresh-token-2', expiresInS: 30 };
    const owner = { name: 'ada', signIn: 's', server: origin, endpoints, clientId: 'c', subject: 'ada' };
    await keepAccount(
      memoryAuthContext(world.disk),
      accountFrom(owner, answer, ['a'], instantNow(world.disk)),
      { name: 'ada', base: seen },
    );
    const sent: (string | null)[] = [];
    const { token } = world;
    world.token = (request) => {
      sent.push(new URLSearchParams(String(request.body)).get('refresh_token'));
      return token(request);
    };
    await renew(world.disk, seen);
    expect(sent).toEqual(['refresh-token-2']);
  });
  it('the lifetime of a token counts from the request, not from the response', async () => {
    let sentMs = 0;
    const { result, world } = await refreshed((one) => {
      one.slowMs = 30_000;
      sentMs = one.disk.now();
    });
    expect((result as Account).obtainedMs).toBe(sentMs);
    expect(world.disk.now() - sentMs).toBeGreaterThanOrEqual(30_000);
  });
});

describe('the wait for a refresh of another process', () => {
  /** Another process holds the lock for this time. The credentials do not change. */
  const waited = async (heldMs: number) => {
    const world = makeWorld();
    const seen = await signIn(world);
    const other: Host = { ...world.disk, pid: 77 };
    const lock = await openCredentialStore(memoryAuthContext(other)).lockAccount('ada', { waitMs: 0 });
    const since = world.disk.elapsed();
    const host: Host = {
      ...world.disk,
      processes: { ...world.disk.processes, isAlive: () => true },
      sleep: async (ms, signal) => {
        await world.disk.sleep(ms, signal);
        if (world.disk.elapsed() - since >= heldMs) await lock?.release();
      },
    };
    const result = await renew(host, seen).catch((error: unknown) => error);
    return { result, tookMs: world.disk.elapsed() - since, asked: world.issued.length };
  };
  it('a lock of 119 s is waited for', async () => {
    const { result, asked } = await waited(119_000);
    expect([result, asked]).toMatchObject([{ accessToken: 'access-token-1' }, 1]);
  });
  it('a lock of more than 120 s is an error, and no request is sent', async () => {
    const { result, tookMs, asked } = await waited(125_000);
    expect([result, asked]).toMatchObject([{ detail: { code: 'LOCK_BUSY' } }, 0]);
    expect(tookMs).toBeGreaterThanOrEqual(120_000);
    expect(tookMs).toBeLessThan(121_000);
  });
});

describe('the order of a sign-out', () => {
  it('the service has revoked the token before the credentials go', async () => {
    const world = makeWorld();
    const account = await signIn(world);
    const trace = traced(world);
    await signOut(memoryAuthContext(trace.host), account, false);
    trace.note('the command ends');
    expect(world.revoked).toEqual(['refresh-token-1']);
    expectInOrder(
      trace.entries,
      ...['POST /revoke', 'POST /revoke done', 'create credentials.lock done'],
      ...['replace credentials.json', 'replace credentials.json done', 'remove credentials.lock done'],
      'the command ends',
    );
  });
});

describe('a service that revokes access tokens only', () => {
  it('no warning reports a revocation that failed, and the credentials stay', async () => {
    const world = makeWorld();
    const account = await signIn(world);
    world.revoke = (token) =>
      token.startsWith('refresh')
        ? { status: 400, body: { error: 'unsupported_token_type' } }
        : { status: 403, body: { error: 'access_denied' } };
    const lines: string[] = [];
    const context = memoryAuthContext(world.disk, { lines });
    await expect(signOut(context, account, false)).rejects.toMatchObject({ detail: { httpStatus: 403 } });
    expect(world.revoked).toEqual(['refresh-token-1', 'access-token-0']);
    expect(lines.filter((line) => line.includes(account.name))).toEqual([]);
    expect((await openCredentialStore(context).read()).accounts).toHaveLength(1);
  });
});

const device = (host: Host, signal?: AbortSignal): Promise<Account> =>
  signInWithDevice(memoryAuthContext(host, signal === undefined ? {} : { signal }), {
    server: { key: origin, endpoints, clientId: 'c', isMock: false } as never,
    ...{ scopes: ['a'], account: 'ada', timeoutMs: 900_000 },
  });
describe('the order of a sign-in with a code', () => {
  it('the code is shown before the first poll, and the tokens are stored before the command ends', async () => {
    const world = makeWorld();
    const next = world.token;
    let polls = 0;
    world.token = (request) => {
      polls += 1;
      return polls < 3 ? { status: 400, body: { error: 'authorization_pending' } } : next(request);
    };
    // The intervals of the polls are measured, so effects take no time.
    const trace = traceHost(world.disk);
    const began = world.disk.elapsed();
    await device(trace.host);
    trace.note('the command ends');
    expect(world.disk.elapsed() - began).toBe(15_000);
    expect(world.disk.err()).toContain(`${origin}/go`);
    expectInOrder(
      trace.entries,
      ...['POST /device done', 'POST /token done', 'POST /token done', 'POST /token done'],
      ...['create credentials.lock done', 'replace credentials.key done', 'replace credentials.json done'],
      ...['remove credentials.lock done', 'the command ends'],
    );
  });
});

describe('every effect of a sign-in fails once', () => {
  const storedIn = async (host: Host): Promise<readonly Account[]> =>
    (await openCredentialStore(memoryAuthContext(host)).read()).accounts;
  /** `again` runs in another process after the fault and must reach `goal`. */
  const bed =
    (
      prepare: (world: World) => Promise<Account | undefined>,
      act: (host: Host, account: Account | undefined, signal?: AbortSignal) => Promise<unknown>,
      goal: (world: World, accounts: readonly Account[], value?: unknown) => readonly string[],
    ): MakeBed =>
    async (fault): Promise<Bed> => {
      const world = makeWorld();
      const account = await prepare(world);
      const trace = traced(world, fault);
      const { disk } = world;
      const next: Host = {
        ...disk,
        pid: disk.pid + 1,
        processes: { ...disk.processes, isAlive: (pid) => pid === disk.pid + 1 },
      };
      return {
        start: (signal) => ({ traced: trace, result: act(trace.host, account, signal) }),
        check: async (ended) => {
          const early = ended.kind === 'ended' ? goal(world, await storedIn(next), ended.value) : [];
          const last = await act(next, account).then(
            () => [],
            (error: unknown) => [`the next command: ${String((error as Error).stack)}`],
          );
          const files = new Map(Object.entries(disk.files.all()));
          return [
            ...early,
            ...last,
            ...goal(world, await storedIn(next)),
            ...aSecretIsNowhereInPlainText(['access-token-', 'refresh-token-'], files),
          ];
        },
      };
    };
  const newestIsStored = ({ issued }: World, accounts: readonly Account[]): string[] => {
    const [stored] = accounts;
    return stored?.accessToken === issued.at(-1) && stored?.refreshToken === 'refresh-token-1'
      ? []
      : [`the store has ${stored?.accessToken}, the server issued ${issued.at(-1)}`];
  };
  it('a refresh can be repeated, and the store has the newest tokens', async () => {
    const act = (host: Host, account?: Account, signal?: AbortSignal): Promise<unknown> =>
      renew(host, account as Account, signal);
    /** A new token is valid for its command even if it cannot be stored. */
    const isUsed = ({ issued }: World, value: unknown): boolean =>
      (value as Account | undefined)?.accessToken === issued.at(-1);
    await expectEachEffectMayFail(
      bed(signIn, act, (world, accounts, value) =>
        isUsed(world, value) ? [] : newestIsStored(world, accounts),
      ),
      10,
    );
  });
  it('a sign-in with a code can be repeated, and the store has the newest tokens', async () => {
    const act = (host: Host, _?: Account, signal?: AbortSignal): Promise<unknown> => device(host, signal);
    await expectEachEffectMayFail(
      bed(async () => undefined, act, newestIsStored),
      10,
    );
  });
  it('a sign-out can be repeated, and no credential goes before the service has revoked it', async () => {
    const act = async (host: Host, _?: Account, signal?: AbortSignal): Promise<unknown> => {
      const [account] = await storedIn(host);
      const context = memoryAuthContext(host, signal === undefined ? {} : { signal });
      return account === undefined ? undefined : signOut(context, account, false);
    };
    const goal = ({ revoked }: World, accounts: readonly Account[]): string[] => [
      ...accounts.map(({ name }) => `${name} is still stored`),
      ...(revoked.includes('refresh-token-1') ? [] : ['the refresh token is still valid']),
    ];
    await expectEachEffectMayFail(bed(signIn, act, goal), 10);
  });
});

describe('no effect of a sign-in outlasts its command', () => {
  /** A slow response would reach the time limit of its request. */
  const slowFiles = (slow: (host: Host) => Host, disk: Host): Host => ({
    ...slow(disk),
    network: disk.network,
  });
  const faultsOf = async (work: Promise<unknown>): Promise<string[]> =>
    work.then(
      () => [],
      (error: unknown) => [String(error)],
    );
  it.each<readonly [string, (host: Host, account: Account) => Promise<unknown>]>([
    ['a refresh', (host, account) => renew(host, account)],
    ['a sign-in with a code', (host) => device(host)],
    ['a sign-out', (host, account) => signOut(memoryAuthContext(host), account, false)],
  ])('%s', async (_, act) => {
    const broken = await brokenIfSlow(async (slow) => {
      const world = makeWorld();
      const account = await signIn(world);
      return faultsOf(act(slowFiles(slow, world.disk), account));
    });
    expect(broken).toEqual([]);
  });
  it('a refresh that fails', async () => {
    const broken = await brokenIfSlow(async (slow) => {
      const world = makeWorld();
      const account = await signIn(world);
      world.token = () => ({ status: 500, body: {} });
      return (await faultsOf(renew(slowFiles(slow, world.disk), account))).length === 1
        ? []
        : ['it did not fail'];
    });
    expect(broken).toEqual([]);
  });
});

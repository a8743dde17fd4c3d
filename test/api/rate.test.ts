import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Line, makeBucket, parseLines, turnOf, WINDOW_MS } from '../../src/api/rate.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { fakeHost } from '../support/fake-host.ts';
import { covers } from '../support/covers.ts';
import { testInDirectory } from '../support/test-in-directory.ts';

const ticket = (id: string, atMs: number): Line => ({ kind: 'ticket', id, atMs });
const done = (id: string, atMs: number): Line => ({ kind: 'done', id, atMs });
const rule = (limit: number, isAlive = true) => ({ limit, windowMs: WINDOW_MS, isAlive: () => isAlive });

test('torn and foreign lines are left out', () => {
  expect(parseLines('t 5 a\nb 9\nt x y\nt 7\nnonsense\nd 8 a\nx 9 c\no 3\n')).toEqual([
    ticket('a', 5),
    { kind: 'blocked', untilMs: 9 },
    done('a', 8),
    { kind: 'dropped', atMs: 9, id: 'c' },
    { kind: 'open', untilMs: 3 },
  ]);
});

test('a place becomes free one window after the response, not during the request', () => {
  const asked = [ticket('a', 0), ticket('b', 1), ticket('c', 2)];
  expect(turnOf(asked, 'b', 10, rule(2))).toBe(10);
  expect(turnOf(asked, 'c', 10, rule(2))).toBeGreaterThan(10);
  const slow = [...asked, done('a', 40_000)];
  expect(turnOf(slow, 'c', 50_000, rule(2))).toBe(40_000 + WINDOW_MS);
  expect(turnOf(slow, 'c', 40_001 + WINDOW_MS, rule(2))).toBe(40_001 + WINDOW_MS);
});

test('a canceled request frees its place immediately, a request of an exited process after two windows', () => {
  const lines: Line[] = [ticket('a', 0), ticket('b', 1)];
  expect(turnOf([...lines, { kind: 'dropped', id: 'a', atMs: 5 }], 'b', 9, rule(1))).toBe(9);
  expect(turnOf(lines, 'b', 9, rule(1, false))).toBe(2 * WINDOW_MS);
});

test('a rate limit of the service blocks all processes', () => {
  expect(
    turnOf([ticket('a', 0), { kind: 'blocked', untilMs: 30_000 }, ticket('b', 5)], 'b', 6, rule(9)),
  ).toBe(30_000);
});

test('a service without a limit lets all requests pass for a time', () => {
  const lines: Line[] = [ticket('a', 0), { kind: 'open', untilMs: 1000 }, ticket('b', 2), ticket('c', 1000)];
  expect(turnOf(lines, 'b', 3, rule(1))).toBe(3);
  expect(turnOf(lines, 'c', 1001, rule(1))).toBeGreaterThan(1001);
});

/** Simulates requests: each asks for a ticket and departs late. The service counts it later, and its response arrives after that. */
const counted = (
  requests: readonly { ask: number; depart: number; travel: number; answer: number }[],
  limit: number,
): number[] => {
  const lines: Line[] = [];
  const seen: number[] = [];
  type Event = { readonly at: number; readonly run: () => void };
  const events: Event[] = [];
  const at = (time: number, run: () => void): void => void events.push({ at: time, run });
  for (const [i, { ask, depart, travel, answer }] of requests.entries()) {
    const id = String(i);
    const look = (now: number): void => {
      const turn = turnOf(lines, id, now, rule(limit));
      if (turn > now) {
        at(turn, () => look(turn));
        return;
      }
      const arrives = now + depart + travel;
      seen.push(arrives);
      at(arrives + answer, () => lines.push(done(id, arrives + answer)));
    };
    at(ask, () => {
      lines.push(ticket(id, ask));
      look(ask);
    });
  }
  while (events.length > 0) {
    events.sort((a, b) => a.at - b.at);
    events.shift()?.run();
  }
  return seen.sort((a, b) => a - b);
};

test(
  'the service never sees more than the limit in any window, however late requests leave and arrive',
  covers('defect/D10-1', 'defect/R-12'),
  () => {
    const ms = (max: number) => fc.integer({ min: 0, max });
    const request = fc.record({ ask: ms(100_000), depart: ms(50_000), travel: ms(20_000), answer: ms(5000) });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 25 }), fc.integer({ min: 1, max: 6 }), (requests, limit) => {
        const seen = counted(requests, limit);
        expect(seen).toHaveLength(requests.length);
        return seen.every((time, i) => i < limit || time - (seen[i - limit] ?? 0) >= WINDOW_MS);
      }),
      { numRuns: 60 },
    );
  },
);

const lineOf = (host: ReturnType<typeof fakeHost>): string[] =>
  Object.entries(host.files.all())
    .filter(([path]) => path.startsWith('/state/rate-'))
    .flatMap(([, text]) => text.split('\n').filter((line) => line !== ''))
    .map((line) => line[0] ?? '');

test('a bucket in a directory: the third request of two a minute waits for the rest of the minute', async () => {
  const host = fakeHost();
  const bucket = makeBucket(host, '/state', 'k', 2);
  const waits: number[] = [];
  const start = host.now();
  for (let i = 0; i < 3; i++) (await bucket.admit((ms) => waits.push(ms)))('answered');
  expect(waits).toEqual([WINDOW_MS]);
  expect(host.now() - start).toBe(WINDOW_MS);
});

test('the absence of a limit is recorded once in some minutes, not for each response', async () => {
  const host = fakeHost();
  const bucket = makeBucket(host, '/state', 'k', 1);
  (await bucket.admit())('answered');
  const opened = async (): Promise<number> => {
    const names = await host.files.list('/state');
    const texts = names.map((name) => host.files.readNow(`/state/${name}`) ?? '');
    return parseLines(texts.join('')).filter(({ kind }) => kind === 'open').length;
  };
  bucket.open();
  bucket.open();
  expect(await opened()).toBe(1);
  const texts = Object.values(host.files.all());
  expect(texts.join('')).toContain(`o ${host.now() + 10 * 60_000}\n`);
  await host.sleep(6 * 60_000);
  bucket.open();
  expect(await opened()).toBe(2);
});

test('a request that never ends holds the others up for some minutes, not for ever', async () => {
  const host = fakeHost();
  const start = host.now();
  await makeBucket(host, '/state', 'k', 1).admit();
  await makeBucket(host, '/state', 'k', 1).admit();
  expect(host.now() - start).toBeGreaterThan(3 * 60_000);
});

test.each([
  ['answered', WINDOW_MS],
  ['lost', 2 * WINDOW_MS],
  ['unsent', 0],
] as const)('a request that is %s holds its place %d ms from its end', async (end, ms) => {
  const host = fakeHost();
  const bucket = makeBucket(host, '/state', 'k', 1);
  const ended = await bucket.admit();
  await host.sleep(5000);
  const at = host.now();
  ended(end);
  await bucket.admit();
  expect(host.now() - at).toBe(ms);
});

test('a place taken two files ago and used at the end of its time still counts', async () => {
  const host = fakeHost();
  const epochMs = 3 * 60_000;
  const epoch = Math.floor(host.now() / epochMs);
  await host.sleep((epoch + 1) * epochMs - host.now() - 1);
  const early = makeBucket(host, '/state', 'k', 1);
  const first = await early.admit();
  // The request is slow: the service counts it just before the file of its ticket is two files old.
  await host.sleep(epochMs - 1000);
  first('answered');
  await host.sleep(2000);
  expect(Math.floor(host.now() / epochMs)).toBe(epoch + 2);
  const at = host.now();
  await makeBucket(host, '/state', 'k', 1).admit();
  expect(host.now() - at).toBe(WINDOW_MS - 2000);
});

test('a deleted ticket is written again, and does not let its request through', async () => {
  const host = fakeHost();
  await makeBucket(host, '/state', 'k', 1).admit();
  const start = host.now();
  const { readNow } = host.files;
  let reads = 0;
  const own = {
    ...host,
    files: { ...host.files, readNow: (path: string) => (reads++ < 4 ? undefined : readNow(path)) },
  };
  await makeBucket(own, '/state', 'k', 1).admit();
  expect(reads).toBeGreaterThan(4);
  expect(host.now() - start).toBeGreaterThan(WINDOW_MS);
});

test('a file that can be written but not read limits no request', async () => {
  const host = fakeHost();
  const own = { ...host, files: { ...host.files, readNow: () => undefined } };
  const start = host.now();
  for (let i = 0; i < 3; i++) await makeBucket(own, '/state', 'k', 1).admit();
  expect(host.now()).toBe(start);
  // Each request gave up after its fourth ticket.
  expect(lineOf(host).filter((word) => word === 't')).toHaveLength(3 * 4);
});

test.each([
  ['after another boot', { bootId: 'boot-2', pidNamespace: 'pid:[1]' }],
  ['in another container', { bootId: 'boot-1', pidNamespace: 'pid:[2]' }],
])('a process ID %s does not identify the owner of a ticket', async (_, scope) => {
  const host = fakeHost();
  await makeBucket(host, '/state', 'k', 1).admit();
  const start = host.now();
  const processes = {
    ...host.processes,
    isAlive: () => false,
    scope: () => ({ machineId: 'machine-1', ...scope }),
  };
  await makeBucket({ ...host, processes, pid: host.pid + 1 }, '/state', 'k', 1).admit();
  // Of a process of this machine that has ended, the place is free after two windows.
  expect(host.now() - start).toBeGreaterThan(2 * WINDOW_MS);
});

testInDirectory(
  'fifty buckets on one directory: no window has more than the limit, though departures are late',
  async ({ directory }) => {
    const host = nodeHost();
    const windowMs = 150;
    const seen: number[] = [];
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const bucket = makeBucket(host, directory, 'k', 20, { windowMs });
        for (let round = 0; round < 2; round++) {
          const answered = await bucket.admit();
          await host.sleep((i * 7) % 40);
          seen.push(performance.now());
          await host.sleep((i * 3) % 10);
          answered('answered');
        }
      }),
    );
    seen.sort((a, b) => a - b);
    expect(seen).toHaveLength(100);
    // The clock of tickets has a resolution of one millisecond.
    expect(seen.filter((time, i) => i >= 20 && time - (seen[i - 20] ?? 0) < windowMs - 2)).toEqual([]);
  },
);

test('a request that passed without a limit occupies no place later', () => {
  const lines: Line[] = [{ kind: 'open', untilMs: 1000 }, ticket('a', 999), ticket('b', 1000)];
  expect(turnOf(lines, 'b', 1001, rule(1))).toBe(1001);
  expect(turnOf([...lines, ticket('c', 1002)], 'c', 1003, rule(1))).toBeGreaterThan(1003);
});

test('the earliest free place is awaited', () => {
  const lines = [ticket('a', 0), ticket('b', 1), ticket('c', 2), done('b', 10), done('a', 20)];
  expect(turnOf(lines, 'c', 30, rule(2))).toBe(10 + WINDOW_MS);
  expect(turnOf(lines, 'c', 30, rule(1))).toBe(20 + WINDOW_MS);
  expect(turnOf(lines, 'c', 30, rule(3))).toBe(30);
});

test('a rate limit of the service reaches every bucket of the directory', async () => {
  const host = fakeHost();
  await makeBucket(host, '/state', 'k', 9).admit();
  const start = host.now();
  makeBucket(host, '/state', 'k', 9).block(start + 30_000);
  await makeBucket(host, '/state', 'k', 9).admit();
  expect(host.now() - start).toBe(30_000);
  await makeBucket(host, '/state', 'other', 9).admit();
  expect(host.now() - start).toBe(30_000);
});

test('files without readers are removed, files of other keys stay', async () => {
  const host = fakeHost();
  const epoch = Math.floor(host.now() / (3 * 60_000));
  const names = [3, 2, 1]
    .map((ago) => `rate-k-${epoch - ago}`)
    .concat(`rate-other-${epoch - 3}`, 'rate-k-notes');
  for (const name of names) await host.files.replace(`/state/${name}`, '', 0o600);
  await makeBucket(host, '/state', 'k', 1).admit();
  expect((await host.files.list('/state')).sort()).toEqual(
    [2, 1, 0]
      .map((ago) => `rate-k-${epoch - ago}`)
      .concat('rate-k-notes', `rate-other-${epoch - 3}`)
      .sort(),
  );
});

test('only the request that starts a file reads the directory', async () => {
  const host = fakeHost();
  let reads = 0;
  const list = (path: string): Promise<string[]> => {
    reads += 1;
    return host.files.list(path);
  };
  const files = { ...host.files, list };
  const request = async () => (await makeBucket({ ...host, files }, '/state', 'k', 9).admit())('answered');
  for (let i = 0; i < 3; i++) await request();
  expect(reads).toBe(1);
  await host.sleep(3 * 60_000);
  for (let i = 0; i < 3; i++) await request();
  expect(reads).toBe(2);
});

test.each([
  ['of this process is waited for', '4242/testhost', Number.POSITIVE_INFINITY],
  ['of a process that has ended frees its place after two windows', '4243/testhost', 2 * WINDOW_MS],
  ['of another machine is taken to be under way for some minutes', '7/elsewhere', 10 * 60_000],
])('an unanswered request %s', async (_, owner, most) => {
  const host = fakeHost();
  const start = host.now();
  const epoch = Math.floor(start / (3 * 60_000));
  await host.files.replace(`/state/rate-k-${epoch}`, `t ${start} ${owner}/${start}/x1\n`, 0o600);
  const waits: number[] = [];
  await makeBucket(host, '/state', 'k', 1).admit((ms) => waits.push(ms));
  const waited = host.now() - start;
  if (most === 2 * WINDOW_MS) expect([waited, waits]).toEqual([most, [most]]);
  else expect(waited).toBeGreaterThan(2 * WINDOW_MS);
});

test('the rules are the same at time zero of a clock', () => {
  const two = [ticket('a', 0), ticket('b', 0)];
  expect(turnOf(two, 'a', 0, rule(1))).toBe(0);
  expect(turnOf(two, 'b', 0, rule(1))).toBe(250);
  expect(turnOf([...two, done('a', 0)], 'b', 0, rule(1))).toBe(WINDOW_MS);
  expect(turnOf([...two, done('a', 0)], 'b', WINDOW_MS, rule(1))).toBe(WINDOW_MS);
});

test('a refusal holds back who would pass because there was no limit, too', () => {
  const lines: Line[] = [
    { kind: 'open', untilMs: 1000 },
    ticket('a', 5),
    { kind: 'blocked', untilMs: 900 },
    ticket('b', 6),
  ];
  expect(turnOf(lines, 'a', 10, rule(1))).toBe(900);
  expect(turnOf(lines, 'b', 901, rule(1))).toBe(901);
});

test('only the user can read the files of a bucket; a request leaves a ticket and its end', async () => {
  const host = fakeHost();
  const answered = await makeBucket(host, '/state', 'k', 1).admit();
  expect(lineOf(host)).toEqual(['t']);
  answered('answered');
  expect(lineOf(host)).toEqual(['t', 'd']);
  const [path = ''] = Object.keys(host.files.all()).filter((one) => one.startsWith('/state/rate-'));
  expect(host.files.mode(path)).toBe(0o600);
});

test('the first request of a profile makes its directory, for the user alone', async () => {
  const host = fakeHost();
  const made: [string, number][] = [];
  const files: typeof host.files = {
    ...host.files,
    append: (path, mode) => {
      if (made.length === 0) throw new Error('ENOENT');
      return host.files.append(path, mode);
    },
    makeDirectory: async (path, mode = 0) => void made.push([path, mode]),
  };
  await makeBucket({ ...host, files }, '/state', 'k', 1).admit();
  expect(made).toEqual([['/state', 0o700]]);
  expect(lineOf(host)).toEqual(['t']);
});

test('a canceled wait releases the place', async () => {
  const host = fakeHost();
  const controller = new AbortController();
  const waiting = makeBucket(host, '/state', 'k', 1, { signal: controller.signal });
  waiting.block(host.now() + 5000);
  await expect(waiting.admit(() => controller.abort(new Error('stop')))).rejects.toThrow('stop');
  expect(lineOf(host)).toEqual(['b', 't', 'x']);
});

test('a process that is suspended between two clock reads does not pass early', async () => {
  const host = fakeHost();
  let stalls = 0;
  const slow = {
    ...host,
    now: () => {
      stalls += 1000;
      return host.now() + stalls;
    },
  };
  const bucket = makeBucket(slow, '/state/rate', 'k', 1);
  const ended = await bucket.admit();
  let looks = 0;
  const sleep = async (): Promise<void> => {
    looks += 1;
    if (looks === 20) ended('unsent');
  };
  await makeBucket({ ...slow, sleep }, '/state/rate', 'k', 1).admit();
  expect(looks).toBe(20);
});

test('a long wait is reported once, and a short one is not reported', async () => {
  const host = fakeHost();
  const windowMs = 400;
  const told: number[] = [];
  for (let i = 0; i < 2; i++)
    (await makeBucket(host, '/state', 'k', 1, { windowMs }).admit((ms) => told.push(ms)))('answered');
  expect(told).toEqual([]);
  makeBucket(host, '/state', 'k', 9, { windowMs }).block(host.now() + 5000);
  (await makeBucket(host, '/state', 'k', 9, { windowMs }).admit((ms) => told.push(ms)))('answered');
  expect(told).toEqual([5000]);
});

test('a service without a limit needs no ticket for some minutes, and then a ticket again', async () => {
  const host = fakeHost();
  const bucket = makeBucket(host, '/state', 'k', 1);
  bucket.open();
  const start = host.now();
  for (let i = 0; i < 3; i++) await bucket.admit();
  expect([lineOf(host), host.now()]).toEqual([['o'], start]);
  host.advance(5 * 60_000);
  await bucket.admit();
  expect(lineOf(host)).toContain('t');
});

test('a request that waited longer than the old file is read gets a ticket in a new one', async () => {
  const host = fakeHost();
  const start = host.now();
  const bucket = makeBucket(host, '/state', 'k', 1);
  bucket.block(start + 8 * 60_000);
  (await bucket.admit())('answered');
  expect(host.now()).toBe(start + 8 * 60_000);
  const texts = Object.entries(host.files.all())
    .filter(([path]) => path.startsWith('/state/rate-k-'))
    .sort()
    .map(([, text]) =>
      text
        .split('\n')
        .map((line) => line[0] ?? '')
        .join(''),
    );
  expect(texts.at(-1)).toBe('td');
});

test('a directory that cannot be created limits no request', async () => {
  const host = fakeHost();
  const append = () => {
    throw new Error('EROFS');
  };
  const start = host.now();
  const bucket = makeBucket({ ...host, files: { ...host.files, append } }, '/state', 'k', 1);
  for (let i = 0; i < 3; i++) (await bucket.admit())('answered');
  expect(host.now()).toBe(start);
});

test('the previous file counts: a rate limit continues in the next minutes', async () => {
  const epochMs = 3 * 60_000;
  const start = 9_000_000 * epochMs;
  const host = fakeHost({
    now: start,
    files: { [`/state/rate-k-${start / epochMs - 1}`]: `b ${start + 5000}\n` },
  });
  await makeBucket(host, '/state', 'k', 5).admit();
  expect(host.now()).toBe(start + 5000);
});

test('a process that waits in one file sees a rate limit that is written to the next file', async () => {
  const epochMs = 3 * 60_000;
  const epoch = 9_000_000;
  const start = (epoch + 1) * epochMs - 1000;
  const lines = `t ${start - 58_000} a\nd ${start - 58_000} a\n`;
  const host = fakeHost({ now: start, files: { [`/state/rate-k-${epoch}`]: lines } });
  await makeBucket(host, '/state', 'k', 1).admit(() => {
    const file = host.files.append(`/state/rate-k-${epoch + 1}`, 0o600);
    file.write(`b ${start + 30_000}\n`);
    file.close();
  });
  expect(host.now()).toBe(start + 30_000);
});

test('the first request waits for its directory, so it is counted', async () => {
  const host = fakeHost();
  let isMade = false;
  const files: typeof host.files = {
    ...host.files,
    append: (path, mode) => {
      if (!isMade) throw new Error('ENOENT');
      return host.files.append(path, mode);
    },
    makeDirectory: async () => {
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
      isMade = true;
    },
  };
  const waits: number[] = [];
  const bucket = makeBucket({ ...host, files }, '/state', 'k', 1);
  for (let i = 0; i < 2; i += 1) (await bucket.admit((ms) => waits.push(ms)))('answered');
  expect(waits).toEqual([WINDOW_MS]);
});
test('the removal of old files is complete before the request goes', async () => {
  const host = fakeHost();
  const bucket = makeBucket(host, '/state', 'k', 9);
  (await bucket.admit())('answered');
  host.advance(60 * 60_000);
  const entries: string[] = [];
  const files: typeof host.files = {
    ...host.files,
    remove: async (path) => {
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
      await host.files.remove(path);
      entries.push('an old file is removed');
    },
  };
  await makeBucket({ ...host, files }, '/state', 'k', 9).admit();
  entries.push('the request goes');
  expect(entries).toEqual(['an old file is removed', 'the request goes']);
});

import { Agent, request } from 'node:http';
import { expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { testSeed } from '../support/seeded.ts';
import { covers } from '../support/covers.ts';

const ROUNDS = process.env.OPSCTL_SOAK === '1' ? 100 : 10;
const WRITERS = 4;
const seed = testSeed;

let home: Program | undefined;

/** mulberry32 returns the same delays for the same seed. */
const randomFrom = (start: number) => {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

type Server = { readonly url: string; readonly token: string };
const call = (
  agent: Agent,
  { url, token }: Server,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: any }> =>
  new Promise((resolve, reject) => {
    const headers = { 'Tracker-Token': token, 'content-type': 'application/json' };
    const sent = request(`${url}/api/v3${path}`, { method, headers, agent }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      reply
        .on('error', reject)
        .on('end', () =>
          resolve({ status: reply.statusCode ?? 0, body: text === '' ? undefined : JSON.parse(text) }),
        );
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });

type Known = Map<number, string | null>;
/**
 * Creates, renames and deletes until the server exits. `known` contains the acknowledged changes, and `open` the requests without a
 * response.
 */
const write = async (
  server: Server,
  agent: Agent,
  known: Known,
  open: Set<number>,
  writer: string,
  random: () => number,
): Promise<void> => {
  const mine: number[] = [];
  for (let i = 0; ; i++) {
    const id = mine[Math.floor(random() * mine.length)];
    try {
      if (id === undefined || random() < 0.6) {
        const { status, body } = await call(agent, server, 'POST', '/labels', { name: `${writer} ${i}` });
        expect(status).toBe(201);
        known.set(body.id, body.name);
        mine.push(body.id);
        continue;
      }
      open.add(id);
      const isDelete = random() < 0.3;
      const { status, body } = await call(
        agent,
        server,
        isDelete ? 'DELETE' : 'PUT',
        `/labels/${id}`,
        isDelete ? undefined : { name: `${writer} ${i} renamed` },
      );
      expect(status).toBe(isDelete ? 204 : 200);
      known.set(id, isDelete ? null : body.name);
      open.delete(id);
      if (isDelete) mine.splice(mine.indexOf(id), 1);
    } catch (error) {
      if ((error as { code?: string }).code === undefined) throw error;
      return;
    }
  }
};

const lost = (
  known: Known,
  open: ReadonlySet<number>,
  labels: readonly { id: number; name: string }[],
): string[] => {
  const stored = new Map(labels.map(({ id, name }) => [id, name]));
  // A request without a response may or may not have taken effect.
  return [...known].flatMap(([id, name]) => {
    const found = stored.get(id) ?? null;
    return open.has(id) || found === name ? [] : [`label ${id}: acknowledged as ${name}, found ${found}`];
  });
};

it(
  `loses no acknowledged write in ${ROUNDS} kills (seed ${seed})`,
  covers('spec/program#mock-server-2'),
  async () => {
    home = program();
    const random = randomFrom(seed);
    const known: Known = new Map();
    const open = new Set<number>();
    let writes = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      const serving = home.start(['mock', 'serve', '--seed', 'empty', '--rate-limit', 'off', '-o', 'json']);
      const ready = await serving.first;
      const server: Server = { url: ready.tracker.base_url, token: ready.tracker.token };
      const agent = new Agent({ keepAlive: true });
      const { body } = await call(agent, server, 'GET', '/labels?slim=true');
      expect(lost(known, open, body), `round ${round}, seed ${seed}`).toEqual([]);
      // From now on, the current state of the server is the expected state.
      for (const id of open)
        known.set(id, body.find((label: { id: number }) => label.id === id)?.name ?? null);
      open.clear();
      const writers = Array.from({ length: WRITERS }, (_, w) =>
        write(server, agent, known, open, `r${round}w${w}`, random),
      );
      await new Promise((resolve) => setTimeout(resolve, 20 + random() * 250));
      serving.kill('SIGKILL');
      await Promise.all([serving.ended, ...writers]);
      agent.destroy();
      writes = known.size;
    }
    expect(writes).toBeGreaterThan(ROUNDS);
  },
);

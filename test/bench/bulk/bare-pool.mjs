// A minimal program that can send these requests: an undici pool with prepared bodies that parses responses as JSON.
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';

const [, , origin = '', token, path = '', connections] = process.argv;
const bodies = readFileSync(path, 'utf8').split('\n').filter(Boolean);
const pool = new Pool(origin, { connections: Number(connections) });
const headers = { 'content-type': 'application/json', 'tracker-token': token };
let next = 0;
const worker = async () => {
  while (next < bodies.length) {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/v3/labels',
      headers,
      body: bodies[next++],
    });
    const answer = await body.json();
    if (statusCode !== 201) throw new Error(JSON.stringify(answer));
  }
};
await Promise.all(Array.from({ length: Number(connections) }, worker));
await pool.close();

import { expect, it } from 'vitest';
import { probe } from '../../src/platform/node/ports.ts';

/** Node returns no certificate, and not an empty one, for a socket that never connected. Nothing listens on port 1. */
it.each(['http', 'https'])('a probe of a closed %s port has no result', async (scheme) => {
  expect(await probe(`${scheme}://127.0.0.1:1/`, 5000)).toEqual({});
});

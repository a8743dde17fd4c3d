/** A list with matching brackets and rows that are not JSON, as after a proxy or an interrupted connection. */
import { expect, test } from 'vitest';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { fakeHost } from '../support/fake-host.ts';
import { naming } from '../support/facts.ts';

test.each(['[{"id":5,"stats":x{"num":1}}]', '[{"id":5},{"id"}]'])(
  'the response is not JSON: %s',
  async (body) => {
    const host = fakeHost({
      env: { OPSCTL_TRACKER_URL: 'https://t.example', OPSCTL_TRACKER_TOKEN: 'tttttttt' },
      reply: () => ({ headers: { 'content-type': 'application/json' }, body }),
    });
    expect(await runProgram(host, ['tracker', 'labels', 'list', '--columns', 'id'], program)).toBe(11);
    expect(host.err()).toEqual(naming('list', 'JSON'));
  },
);

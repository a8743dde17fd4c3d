import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { requestFlags } from './request-flags.ts';

export const requestsCommand = defineCommand({
  path: ['mock', 'requests'],
  summary: 'List the requests that the running mock server received, newest last',
  about:
    'The server keeps its last 10,000 requests with status and time; tokens, codes and passwords are masked. With --expect the command is an ' +
    'assertion: it exits with 20 when another number of requests matches. Needs a running server: `mock serve`, `mock start` or `mock run`.',
  flags: requestFlags,
  examples: [
    {
      line: `opsctl mock requests --method POST --path '/api/v3/labels' --body '{"name":"bug"}' --expect 1`,
      says: 'Fails unless exactly one label "bug" was created',
    },
  ],
  run: async (context, values) => {
    if (values.clear !== true) return (await import('./find-requests.ts')).findRequests(context, values);
    const { requireServer, steer } = await import('./remote.ts');
    requireServer(context);
    await steer(context, (ask) => ask('DELETE', 'requests'));
    return nothing('all requests forgotten');
  },
});

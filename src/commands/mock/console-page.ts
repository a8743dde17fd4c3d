import { externalUrl } from '../../core/external-url.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { liveServer } from '../../mock-server/instance-lock.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { defineCommand } from '../../cli/command.ts';
import { mockDirectory } from './embedded.ts';

/** The developer console as a page; only a server that goes on running can show one. */
export const consoleCommand = defineCommand({
  path: ['mock', 'oauth', 'console'],
  summary: 'Show the address of the developer console, and open it',
  run: async (context) => {
    const given = context.host.env.OPSCTL_MOCK_URL;
    const url = given || liveServer(context.host, mockDirectory(context.settings))?.url;
    if (url === undefined) {
      throw new AppError('config', 'no mock server is running, so there is no console to show', {
        code: 'NOT_RUNNING',
        tryThis: ['opsctl mock serve', 'opsctl mock oauth clients list (works without a running server)'],
      });
    }
    const page = externalUrl(`${url.replace(/\/$/, '')}${authPaths.console}/console`);
    if (page === undefined)
      throw new AppError('config', `invalid OPSCTL_MOCK_URL ${JSON.stringify(url)}: must be an http URL`, {
        code: 'MOCK_URL',
        tryThis: ['OPSCTL_MOCK_URL=http://127.0.0.1:PORT', 'opsctl mock serve'],
      });
    const isOpened = context.isInteractive && (await context.host.openBrowser(page));
    return recordResult({ url: page, opened: isOpened });
  },
});

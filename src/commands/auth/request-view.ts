import type { HttpRequest } from '../../platform/host.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { withEndpoints } from '../../auth/access.ts';
import type { Account } from '../../auth/credential-store/account.ts';
import type { TokenClient } from '../../auth/protocol/token-client.ts';
import type { Context } from '../../cli/command.ts';

/** Stands where the secrets of the real request would: a dry run is read over shoulders and pasted into tickets. */
const masked = '***';

/** The requests that `--dry-run` shows in place of sending them, one for each account. */
export const shownRequests = async (
  context: Context,
  accounts: readonly Account[],
  requestFor: (tokenClient: TokenClient, token: string) => HttpRequest,
): Promise<Result> => {
  const { dryRun } = await import('../../api/dry-run.ts');
  const shown = [];
  for (const account of accounts) {
    const { endpoints, clientId, clientSecret } = await withEndpoints(context, account);
    const request = requestFor(
      { endpoints, clientId, ...(clientSecret === undefined ? {} : { clientSecret: masked }) },
      masked,
    );
    shown.push(dryRun(request as Parameters<typeof dryRun>[0]));
  }
  const [only] = shown;
  return recordResult(shown.length === 1 ? only : shown, { text: shown.map(({ curl }) => curl).join('\n') });
};

import { recordResult, type Result } from '../core/result.ts';
import { checkPlace } from '../auth/bearer.ts';
import { sendPatiently } from '../auth/protocol/send.ts';
import type { HttpResponse } from '../auth/protocol/token-client.ts';
import { readSecret } from '../auth/read-secret.ts';
import { type AccessToken, accessToken } from '../auth/token.ts';
import type { Context } from '../cli/command.ts';
import { shown } from './answer.ts';
import { refusal } from './media-api.ts';
import { pathOf, queryOf, requestTo, scopesFor } from './request.ts';

type MediaValues = {
  readonly path: string;
  readonly param?: readonly string[] | undefined;
  readonly account?: string | undefined;
  readonly 'token-stdin'?: boolean | undefined;
};

const tokenFor = async (context: Context, values: MediaValues, path: string): Promise<AccessToken> => {
  if (values['token-stdin'] !== true)
    return accessToken(context, { account: values.account, scopes: scopesFor(path) });
  const token = await readSecret(context.host, 'token-stdin');
  context.log.hide(token);
  return { token, origin: 'standard input' };
};

export const runMedia = async (context: Context, values: MediaValues): Promise<Result> => {
  const [bare = '', inline = ''] = pathOf(values.path).split('?');
  const query = new URLSearchParams([...new URLSearchParams(inline), ...queryOf(values.param ?? [])]);
  const token = await tokenFor(context, values, bare);
  const target = await context.target('api');
  checkPlace(target, token);
  const ask = async ({ token: secret }: AccessToken): Promise<HttpResponse> =>
    sendPatiently(context, 'data API', requestTo(target, bare, query, secret));
  if (context.isDryRun) {
    const { dryRun } = await import('../api/dry-run.ts');
    const shown = dryRun(requestTo(target, bare, query, token.token) as Parameters<typeof dryRun>[0]);
    return recordResult(shown, { text: shown.curl });
  }
  let read = await ask(token);
  // One refresh and one more try: a token that was revoked early looks good from here.
  if (read.status === 401 && token.account !== undefined)
    read = await ask(await accessToken(context, { account: token.account.name, refused: token.token }));
  if (read.status >= 400) throw refusal(read, bare, token);
  return shown(context, read, bare);
};

import type { Context, ServiceName } from '../cli/command.ts';
import type { ApiRequest } from './request.ts';

/** The data API has no token of its own: the account of `opsctl login` lets the request in. */
export const withBearer = async (
  context: Context,
  service: ServiceName,
  asked: ApiRequest,
): Promise<ApiRequest> => {
  const isOwnHeader = Object.keys(asked.headers).some((name) => name.toLowerCase() === 'authorization');
  if (service !== 'api' || isOwnHeader) return asked;
  const { bearerHeader } = await import('../auth/bearer.ts');
  return { ...asked, headers: { ...asked.headers, ...(await bearerHeader(context)) } };
};

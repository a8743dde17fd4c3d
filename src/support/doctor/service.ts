import { messageOf } from '../../core/error-message.ts';
import { AppError } from '../../core/problem.ts';
import { resolveTarget } from '../../config/resolve-target.ts';
import { NetworkError } from '../../platform/host.ts';
import type { Context, ServiceName } from '../../cli/command.ts';
import type { Finding } from './finding.ts';

const remedyOf = (error: unknown): string =>
  error instanceof NetworkError && error.code === 'TLS'
    ? 'name the certificate authority with NODE_EXTRA_CA_CERTS or ca_file'
    : 'check the URL and your network';
const asError = (error: unknown): { found: string; remedy: string } =>
  error instanceof AppError
    ? { found: error.message, remedy: error.detail.tryThis?.[0] ?? '' }
    : { found: messageOf(error), remedy: remedyOf(error) };

/** A service is reachable when it answers anything at all; whether the token is good shows its status. */
export const serviceFinding = async (
  context: Context,
  service: ServiceName,
  probe: string,
): Promise<Finding> => {
  const check = `${service} service`;
  try {
    const found = resolveTarget(context.settings, service);
    if (found.kind === 'mock')
      return {
        check,
        state: 'warn',
        found: 'not configured: the embedded mock server is used',
        remedy: `opsctl config set ${service}.url https://…`,
      };
    const { headers } = await context.target(service);
    const reply = await context.host.network.request({
      method: 'GET',
      url: new URL(probe, found.baseUrl).href,
      headers,
      timeoutMs: 10_000,
    });
    await reply.bytes();
    if (reply.status === 401 || reply.status === 403)
      return {
        check,
        state: 'fail',
        found: `${found.baseUrl} refuses the token (${reply.status})`,
        remedy: 'give a token that is valid',
      };
    return { check, state: 'pass', found: `${found.baseUrl} answers (${reply.status})` };
  } catch (error) {
    return { check, state: 'fail', ...asError(error) };
  }
};

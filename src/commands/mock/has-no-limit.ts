import { loopback } from '../../config/guards.ts';
import { CONTROL_PATH } from '../../mock-server/control.ts';
import type { Host } from '../../platform/host.ts';

const ASK_MS = 1000;

/**
 * Whether the server at this URL is a mock that was started with `--rate-limit off`. Only an address of this machine is asked,
 * without a token; whatever else answers there has a limit.
 */
export const hasNoLimit = async ({ network }: Pick<Host, 'network'>, baseUrl: string): Promise<boolean> => {
  const { origin, hostname } = new URL(baseUrl);
  if (!loopback(hostname)) return false;
  try {
    const url = `${origin}${CONTROL_PATH}rate`;
    const reply = await network.request({ method: 'GET', url, headers: {}, timeoutMs: ASK_MS });
    return reply.status === 200 && JSON.parse(await reply.text()).per_minute === 'off';
  } catch {
    return false;
  }
};

import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { type Endpoint, reasonOf } from './endpoint.ts';
import { goDuration } from './go-duration.ts';

/** What /health of the member says. */
export const askedHealth = async ({ endpoint, store }: Endpoint) => {
  try {
    const { is_healthy, reason, status } = await store.health();
    return {
      endpoint,
      health: is_healthy ? 'true' : 'false',
      status,
      ...(reason === undefined ? {} : { reason }),
    };
  } catch (error) {
    return { endpoint, health: 'false', reason: reasonOf(error) };
  }
};

export type Proposed = {
  readonly endpoint: string;
  readonly health: boolean;
  readonly took: string;
  /** No proposal was made: without a user, only /health could be read. */
  readonly is_proposed?: false;
  readonly error?: string;
};

/** A proposal through the member; without a user and with authentication on, what /health says (spec/store#measured-answers: else a false alarm). */
export const propose = async (
  host: Pick<Host, 'elapsed'>,
  { endpoint, store }: Endpoint,
): Promise<Proposed> => {
  let began = host.elapsed();
  const took = (): string => goDuration(host.elapsed() - began);
  try {
    // Finding out how the member is spoken to, and connecting, is no part of the proposal.
    await store.row();
    began = host.elapsed();
    await store.range('health');
    return { endpoint, health: true, took: took() };
  } catch (error) {
    const isAuth = error instanceof AppError && error.category === 'auth';
    const isHealthy =
      isAuth &&
      (await store.health().then(
        ({ is_healthy }) => is_healthy,
        () => false,
      ));
    return isHealthy
      ? { endpoint, health: true, took: took(), is_proposed: false }
      : { endpoint, health: false, took: took(), error: reasonOf(error) };
  }
};

/** spec/store#interfaces: `<host:port> is healthy: successfully committed proposal: took = <duration>` */
export const proposalText = (rows: readonly Proposed[]): string =>
  rows
    .map(({ endpoint, health, took, is_proposed, error }) =>
      is_proposed === false
        ? `${endpoint} is healthy: /health is true; no proposal without a user`
        : health
          ? `${endpoint} is healthy: successfully committed proposal: took = ${took}`
          : `${endpoint} is unhealthy: failed to commit proposal: ${error}`,
    )
    .join('\n');

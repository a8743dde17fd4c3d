import { AppError } from '../../core/problem.ts';
import { type Endpoint, reasonOf } from './endpoint.ts';

type Told = {
  readonly endpoint: string;
  readonly kvserver?: string;
  readonly kvcluster?: string;
  readonly error?: string;
};

const askedVersion = async ({ endpoint, store }: Endpoint): Promise<Told> => {
  try {
    const { server, cluster } = await store.versions();
    return { endpoint, kvserver: server, kvcluster: cluster };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};

/** What /version of each member says; an error when none of them answers. */
export const askedVersions = async (endpoints: readonly Endpoint[]): Promise<Told[]> => {
  const rows = await Promise.all(endpoints.map(askedVersion));
  if (rows.some(({ error }) => error === undefined)) return rows;
  const why = rows.map(({ endpoint, error }) => `${endpoint}: ${error}`).join('; ');
  throw new AppError('network', `no member answers: ${why}`, {
    code: 'UNAVAILABLE',
    tryThis: ['opsctl kv status'],
  });
};

import type { ClusterFile } from '../../engine/types.ts';

/** How long a member has to end by itself after it was asked to. */
export const stopGraceMs = ({ timeouts }: Pick<ClusterFile, 'timeouts'>): number =>
  (timeouts?.stop_seconds ?? 120) * 1000;

import type { ChildDetail } from './fleet-child.ts';
import type { FleetRow } from './run-fleet.ts';

/** What the command prints of one cluster. */
export const fleetRow = ({ cluster, outcome, detail }: FleetRow<ChildDetail>, label: string) => ({
  cluster: label,
  file: cluster,
  outcome: detail?.report?.outcome === 'held' ? 'held' : outcome,
  message: detail?.message ?? 'not started: a cluster before it failed, or it was asked to stop',
  duration_ms: detail?.report?.duration_ms ?? null,
  exit_code: detail?.exit_code ?? null,
  report: detail?.report ?? null,
});

import type { Observation, Plan } from '../../engine/types.ts';

/** The versions of the programs: what runs, and the newest that is there; else the first patch of the minor. */
export const rehearsedVersions = (
  observation: Observation,
  plan: Plan,
): { readonly old: string; readonly new: string } => {
  const newest = observation.members
    .map((member) => member.host?.new_binary_version)
    .find((version) => version !== undefined);
  const running = observation.members
    .map((member) => member.server_version)
    .find((version) => version !== undefined);
  return { old: running ?? `${plan.from}.0`, new: newest ?? `${plan.to}.0` };
};

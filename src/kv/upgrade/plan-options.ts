import type { VersionTable } from '../../api-specs/etcd/version-rules.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { acceptable } from './guards/acceptable.ts';
import { guards } from './guards/all.ts';
import { currentGuard } from '../engine/earlier-names.ts';
import type { ClusterFile, PlanOptions } from '../engine/types.ts';

/** What the flags of a plan say, each under its name. */
type Given = {
  readonly accept: readonly string[];
  readonly to?: string | undefined;
  readonly 'copy-data'?: boolean | undefined;
  readonly 'hold-last'?: boolean | undefined;
  readonly 'hold-after'?: number | undefined;
  readonly 'stable-for'?: number | undefined;
  readonly 'stable-before-last'?: number | undefined;
};

/** The names of guards, as they are called now; refuses one whose refusal nobody may take as a warning. */
export const acceptedGuards = (names: readonly string[] = []): string[] => {
  const accept = names.map(currentGuard);
  for (const name of accept) {
    if (acceptable.includes(name)) continue;
    const why = guards.some(({ id }) => id === name)
      ? `${name} cannot be accepted: nothing good can come of it`
      : `${name} is not a guard`;
    throw invalidArguments([problem('--accept', 'enum', why, `one of ${acceptable.join(', ')}`)]);
  }
  return accept;
};

/** Flags win over the cluster file; what neither says has a default. */
export const planOptions = (
  given: Given,
  cluster: ClusterFile,
  versions: VersionTable | undefined,
): PlanOptions => {
  return {
    ...(versions === undefined ? {} : { versions }),
    ...(given.to === undefined ? {} : { to: given.to as Minor }),
    copy_data: given['copy-data'] ?? false,
    hold_last: given['hold-last'] ?? false,
    ...(given['hold-after'] === undefined ? {} : { hold_after: given['hold-after'] }),
    stable_seconds: given['stable-for'] ?? cluster.timeouts?.stable_seconds ?? 1,
    stable_before_last_seconds:
      given['stable-before-last'] ??
      cluster.timeouts?.stable_before_last_seconds ??
      // Nobody depends on a simulated cluster.
      (cluster.simulated === true ? 2 : 10),
    accept: given.accept,
  };
};

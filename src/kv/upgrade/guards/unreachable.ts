import type { HostFacts, MemberSpec } from '../../engine/types.ts';

/** What helps when a host could not be looked at: a connection that failed is no mistake in the cluster file. */
export const hintForHost = (host: HostFacts, spec: MemberSpec | undefined, otherwise: string): string =>
  host.is_unreachable === true && spec?.host !== undefined
    ? `ssh ${spec.host} true has to work, without a question and within 5 s`
    : otherwise;

import type { Host } from '../../../platform/host.ts';
import type { ClusterFile, MemberSeen } from '../../engine/types.ts';
import { busyTimeoutMs, type Access } from '../../engine/access.ts';
import { seeMember, type Seen } from './see-member.ts';

/** An idle member says its version within a few milliseconds, also over a long distance. */
const slowMs = 250;
const isSilent = ({ is_reachable, error_code }: MemberSeen): boolean =>
  !is_reachable && error_code === 'DEADLINE_EXCEEDED';

/**
 * The members that said nothing in time where another one was slow as well, or where all of them were silent: then this machine or the network is
 * busy, and they may only be late. Where the others answer at once, or refuse the connection, a silent member hangs.
 */
export const perhapsLate = (seen: readonly MemberSeen[]): readonly string[] => {
  const silent = seen.filter(isSilent);
  const isBusy = silent.length === seen.length || seen.some(({ latency_ms = 0 }) => latency_ms >= slowMs);
  return isBusy ? silent.map(({ name }) => name) : [];
};

/** All members at the same time, in their order. Who may only be late is asked once more, with more time. */
export const seeMembers = async (host: Host, cluster: ClusterFile, access: Access): Promise<Seen[]> => {
  const { members } = cluster;
  const seen = await Promise.all(members.map((spec) => seeMember(host, spec, access)));
  const late = new Set(perhapsLate(seen));
  return Promise.all(
    seen.map(async (member, i) => {
      const spec = members[i];
      return spec === undefined || !late.has(member.name)
        ? member
        : seeMember(host, spec, access, busyTimeoutMs);
    }),
  );
};

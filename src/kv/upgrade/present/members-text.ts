import type { MemberReport } from '../../engine/types.ts';

/** `n1 3.4.23 up · n2 3.3.25 up · n3 down`: every ending says how each member was left. Pure. */
export const membersText = (
  members: readonly Pick<MemberReport, 'name' | 'version_after' | 'state'>[],
): string =>
  members
    .map(({ name, version_after, state }) =>
      [name, version_after, state ?? 'not looked at'].filter((word) => word !== undefined).join(' '),
    )
    .join(' · ');

import type { MemberStepId, MemberStepKind } from './model.ts';

/** `n2.stop`. */
export const stepId = <K extends MemberStepKind>(member: string, kind: K): MemberStepId<K> =>
  `${member}.${kind}`;
/** The member of a step of this kind; undefined for a step of another kind. */
export const memberOfStep = (id: string, kind: MemberStepKind): string | undefined =>
  id.endsWith(`.${kind}`) ? id.slice(0, -`.${kind}`.length) : undefined;

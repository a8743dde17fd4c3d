import type { Minor } from '../../api-specs/etcd/versions.ts';

/** Per minor: the patch from which a defragmentation loses nothing, and the one from which a member may get a snapshot meanwhile. */
export const defragFixes: readonly {
  readonly minor: Minor;
  readonly unsafeBelow?: string;
  readonly fixed: string;
}[] = [
  { minor: '3.4', fixed: '3.4.38' },
  { minor: '3.5', unsafeBelow: '3.5.6', fixed: '3.5.23' },
  { minor: '3.6', fixed: '3.6.5' },
];

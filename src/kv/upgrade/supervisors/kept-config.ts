import type { MemberSpec, Move } from '../../engine/types.ts';

/** Where the configuration of the version before is kept while another one is active: beside the file, on the member's host. */
export const keptConfig = ({ config_file }: MemberSpec, { from }: Pick<Move, 'from'>): string | undefined =>
  config_file === undefined ? undefined : `${config_file}.opsctl-${from}`;

import type { Probe } from '../probe.ts';
import { authorizationChecks } from './authorization.ts';
import type { Check, Row } from './check.ts';
import { revokeChecks, tokenChecks } from './token.ts';

export const allChecks: readonly Check[] = [...authorizationChecks, ...tokenChecks, ...revokeChecks];

/** A check whose request fails has failed; the others go on. */
export const rowOf = async (check: Check, probe: Probe): Promise<Row> => {
  const { id, says, source } = check;
  try {
    return { id, ...(await check.run(probe)), says, source };
  } catch (error) {
    return {
      id,
      holds: false,
      says,
      source,
      saw: error instanceof Error ? error.message.slice(0, 120) : 'failed',
    };
  }
};

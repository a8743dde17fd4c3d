import { isLive, refusedRefresh } from '../tokens.ts';
import type { Rule } from './rule.ts';
import type { RefreshCall } from './token-call.ts';

/** doc1 States: refresh of a revoked, expired or pushed-out token fails with invalid_grant. */
export const refreshTokenIsLive: Rule<RefreshCall> = ({ auth, family }) => {
  if (!isLive(auth, family)) throw refusedRefresh(auth, family);
};

import { TokenRefusal } from '../errors.ts';
import type { Auth } from '../state.ts';
import type { Rule } from './rule.ts';

/** doc1 Errors invalid_grant: "user account deleted or disabled". */
export const tokenAccountIsActive: Rule<{ readonly auth: Auth; readonly owner: string }> = ({
  auth,
  owner,
}) => {
  if (auth.users.get(owner)?.state !== 'active')
    throw new TokenRefusal('invalid_grant', 'The account has been deleted or disabled.');
};

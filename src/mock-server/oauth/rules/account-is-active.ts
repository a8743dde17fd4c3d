import { RedirectRefusal } from '../errors.ts';
import type { AccountCall, Rule } from './rule.ts';

/** doc1 Errors: an account that is deleted or disabled grants nothing. */
export const accountIsActive: Rule<AccountCall> = ({ user }) => {
  if (user.state !== 'active')
    throw new RedirectRefusal('access_denied', 'The account is disabled or deleted');
};

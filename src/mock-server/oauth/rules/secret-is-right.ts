import { clientTypeRows } from '../../../api-specs/oauth/client-types.ts';
import { basicChallenge } from './credentials.ts';
import { TokenRefusal } from '../errors.ts';
import { secretIsRight as matches } from '../tokens.ts';
import type { Rule } from './rule.ts';
import type { ClientCall } from './token-call.ts';

/**
 * doc1 Authentication 1: "client_secret is sent by clients that have one"; Endpoints 3: not used for mobile A, mobile B and
 * extensions, so what they send is ignored (facts 5.22).
 */
export const secretIsRight: Rule<ClientCall> = ({ client, credentials }) => {
  if (client.secret_hash === null || !clientTypeRows[client.type].mayHaveSecret) return;
  if (credentials.secret === undefined)
    throw new TokenRefusal('invalid_client', 'client_secret is missing.', undefined, basicChallenge);
  if (!matches(client, credentials.secret))
    throw new TokenRefusal('invalid_client', 'The client secret is wrong.', undefined, basicChallenge);
};

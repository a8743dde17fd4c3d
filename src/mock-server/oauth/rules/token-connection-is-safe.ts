import { TokenRefusal } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Endpoints 3: "over HTTPS". A server with TLS takes no token over plain HTTP. */
export const tokenConnectionIsSafe: Rule<RequestCall> = ({ auth, request }) => {
  if (!request.isTls && auth.env.origin().startsWith('https:'))
    throw new TokenRefusal('invalid_request', 'Plain HTTP is refused: use HTTPS');
};

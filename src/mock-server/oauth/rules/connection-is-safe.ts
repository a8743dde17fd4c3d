import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

const isLoopback = (address: string): boolean => /^(::ffff:)?127\.|^::1$/.test(address);

/** doc1 Endpoints 1 "TLS only; plain HTTP connections are refused"; decisions 8: without `--tls` plain HTTP on loopback only. */
export const connectionIsSafe: Rule<RequestCall> = ({ auth, request }) => {
  if (request.isTls) return;
  if (auth.env.origin().startsWith('https:'))
    throw new OAuthPageError('invalid_request', 'Plain HTTP is refused: this endpoint accepts TLS only');
  if (!isLoopback(request.remoteAddress))
    throw new OAuthPageError('invalid_request', 'Plain HTTP is accepted from this machine only');
};

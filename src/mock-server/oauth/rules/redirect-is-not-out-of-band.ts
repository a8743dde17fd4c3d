import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Versioning 2: the out-of-band copy/paste flow is retired. */
export const redirectIsNotOutOfBand: Rule<RequestCall> = ({ params }) => {
  const uri = params.get('redirect_uri') ?? '';
  if (/^urn:ietf:wg:oauth:2\.0:oob(:.*)?$/i.test(uri) || uri === 'oob') {
    throw new OAuthPageError(
      'redirect_uri_mismatch',
      'The out-of-band flow is retired; use a loopback redirect',
    );
  }
};

import { AppError } from '../../core/problem.ts';
import type { Endpoint, Json } from './endpoint.ts';
import { receiveLimitError } from './errors.ts';
import { type PastGateway, grpcCall } from './grpc-call.ts';
import { directCalls } from './messages.ts';
import { decode, encode } from '../../core/protobuf.ts';

/** The same call as through the gateway, and the same answer, by the store's own interface. */
export const callDirect = async (connection: PastGateway, path: string, body: Json): Promise<Json> => {
  const { url, maxReceiveBytes = Number.POSITIVE_INFINITY } = connection.endpoint;
  const row = directCalls[path];
  if (row === undefined)
    throw new AppError('refused', `${url}: ${path} has no call of the store's own`, {
      code: 'UNIMPLEMENTED',
    });
  const answer = await grpcCall(connection, `/etcdserverpb.${row.method}`, encode(row.request, body));
  if (answer.length > maxReceiveBytes) throw receiveLimitError(maxReceiveBytes);
  return decode(row.answer, answer);
};

/** A 404 without a body of the store's: it may be no store at all, and then the first error says more than the second. */
export const isSwitchedOff = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === 'NO_GATEWAY';

/**
 * Refusals that are the gateway's alone, seen on real servers with --client-cert-auth: it calls its own member with the member's
 * certificate, which may not be made for clients or is another user; from 3.4 on it takes no client certificate with a Common Name
 * while authentication is on. The store's own clients have none of these troubles. Nothing was carried out when these come.
 */
export const isGatewaysOwn = (error: unknown, { url, tls, user, isGatewayOnly }: Endpoint): boolean => {
  // Switched off: 3.4 does that by itself when it reads a configuration file that does not name it.
  if (isSwitchedOff(error)) return true;
  if (!(error instanceof AppError) || !url.startsWith('https:') || isGatewayOnly === true) return false;
  const { code } = error.detail;
  if (code === 'GATEWAY_CERTIFICATE' || code === 'CERTIFICATE_NAME') return true;
  // On 3.2 the user of a certificate wins over a token, and for the gateway that is the member's own certificate.
  return (
    tls?.cert !== undefined &&
    (code === 'PERMISSION_DENIED' || (user === undefined && code === 'USER_NEEDED'))
  );
};

import { AppError } from '../../core/problem.ts';
import type { Bytes, HttpReply } from '../../platform/host.ts';
import type { Connection } from './endpoint.ts';
import { hostOf, networkFailure, storeError } from './errors.ts';
import { grpcMessages } from './grpc.ts';

export const isGrpc = ({ status, headers }: HttpReply): boolean =>
  status === 200 && (headers['content-type'] ?? '').startsWith('application/grpc');

/** A message that is no percent encoding is shown as it came. */
const percentDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** What the store's own interface refused, from the headers of an answer without content or from those after it. */
export const refuseFailure = (url: string, fields: Readonly<Record<string, string>>): void => {
  const code = Number(fields['grpc-status'] ?? 0);
  if (code !== 0)
    throw storeError(url, 200, { code, message: percentDecoded(fields['grpc-message'] ?? 'failed') });
};

const onlyMessage = async (url: string, reply: HttpReply): Promise<Buffer> => {
  if (!isGrpc(reply)) {
    await reply.bytes().catch(() => {});
    throw new AppError('refused', `${hostOf(url)}: it answers only through its gateway`, {
      code: 'UNIMPLEMENTED',
    });
  }
  let found: Buffer | undefined;
  try {
    for await (const message of grpcMessages(reply.stream())) found ??= Buffer.from(message);
  } catch (error) {
    throw networkFailure(url, error);
  }
  // A failure without content has its status in the headers, one after content behind it.
  refuseFailure(url, { ...reply.headers, ...reply.trailers?.() });
  if (found === undefined)
    throw new AppError('network', `${hostOf(url)}: the answer ended before it began`, {
      code: 'RESET',
      retryable: true,
    });
  return found;
};

export type PastGateway = Pick<Connection, 'endpoint' | 'grpc' | 'forgetToken'>;
/** One question and one answer past the gateway: for what a version's gateway does not offer. A dead token is replaced once, as there. */
export const grpcCall = async (connection: PastGateway, method: string, message: Bytes): Promise<Buffer> => {
  const { url, user } = connection.endpoint;
  const once = async (): Promise<Buffer> => onlyMessage(url, await connection.grpc(method, message));
  return once().catch((error: unknown) => {
    if (user === undefined || !(error instanceof AppError) || error.detail.code !== 'UNAUTHENTICATED')
      throw error;
    connection.forgetToken();
    return once();
  });
};

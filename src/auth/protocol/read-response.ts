import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import type { HttpReply } from '../../platform/host.ts';
import type { HttpResponse } from './token-client.ts';
import type { Tolerance } from './tolerances.ts';

/** A compressed response must not fill the memory when it is unpacked. */
const limit = { maxOutputLength: 4 * 1024 * 1024 };

const inflate = (data: Uint8Array): Uint8Array => {
  try {
    return inflateSync(data, limit);
  } catch {
    // Some servers send deflate without the zlib header.
    return inflateRawSync(data, limit);
  }
};
const decoders: Readonly<Record<string, (data: Uint8Array) => Uint8Array>> = {
  gzip: (data) => gunzipSync(data, limit),
  'x-gzip': (data) => gunzipSync(data, limit),
  deflate: inflate,
  br: (data) => brotliDecompressSync(data, limit),
  identity: (data) => data,
};

/** The content in the order reverse to the codings; undefined for an unknown coding or damaged content. */
const decode = (data: Uint8Array, codings: readonly string[]): Uint8Array | undefined => {
  try {
    return codings.reduceRight((rest, coding) => {
      const decoder = decoders[coding];
      if (decoder === undefined) throw new Error(`unknown coding ${coding}`);
      return decoder(rest);
    }, data);
  } catch {
    return undefined;
  }
};

const textOf = (data: Uint8Array): string => {
  const isUtf16 = data[0] === 0xff && data[1] === 0xfe;
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { ignoreBOM: true }).decode(data);
};

/** Reads a response to its end, whatever its coding. RFC 9110 12.5.3 allows a server to compress although the request asks for identity. */
export const readResponse = async (reply: HttpReply): Promise<HttpResponse> => {
  const codings = (reply.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
  const data = await reply.bytes();
  const decoded = decode(data, codings);
  const deviations: readonly Tolerance[] = codings.some((coding) => coding !== 'identity')
    ? ['content-encoding']
    : [];
  return {
    status: reply.status,
    headers: reply.headers,
    // A coding that the transport has already removed leaves plain text behind.
    text: textOf(decoded ?? data),
    ...(deviations.length === 0 ? {} : { deviations }),
  };
};

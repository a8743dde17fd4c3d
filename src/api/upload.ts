/** One part of a multipart body: a value, or a file that is read while it is sent. */
export type Part =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly filename: string;
      readonly contentType: string;
      readonly sizeBytes: number;
      readonly bytes: AsyncIterable<Uint8Array>;
    };
export type Multipart = {
  readonly contentType: string;
  readonly lengthBytes: number;
  readonly body: AsyncIterable<Uint8Array>;
};

/** As browsers do it (WHATWG form data): quotes and line ends of a name are percent-encoded, everything else is UTF-8. */
const quoted = (text: string): string =>
  text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const head = (boundary: string, part: Part): Uint8Array => {
  const file =
    'filename' in part ? `; filename="${quoted(part.filename)}"\r\nContent-Type: ${part.contentType}` : '';
  return Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(part.name)}"${file}\r\n\r\n`,
  );
};

async function* chunks(parts: readonly Part[], boundary: string): AsyncIterable<Uint8Array> {
  for (const part of parts) {
    yield head(boundary, part);
    if ('value' in part) yield Buffer.from(part.value);
    else yield* part.bytes;
    yield Buffer.from('\r\n');
  }
  yield Buffer.from(`--${boundary}--\r\n`);
}

/** A multipart/form-data body of known length that never holds a whole file in memory. `mark` makes the boundary unique. */
export const multipart = (parts: readonly Part[], mark: string): Multipart => {
  const boundary = `opsctl-${mark}`;
  const size = (part: Part) => ('value' in part ? Buffer.byteLength(part.value) : part.sizeBytes);
  const lengthBytes = parts.reduce(
    (sum, part) => sum + head(boundary, part).length + size(part) + 2,
    boundary.length + 6,
  );
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    lengthBytes,
    body: chunks(parts, boundary),
  };
};

import type { Socket } from 'node:net';
import type { Bytes } from '../host.ts';
import { drained } from './drained.ts';
import type { Progress } from './transport.ts';

const chunk = (bytes: Bytes): Bytes =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/**
 * Writes a body as fast as the server takes it, in chunks unless its length was announced. Rejects when the source fails, or
 * when it is shorter or longer than announced: that would corrupt the next request on the connection.
 */
export const upload = async (
  socket: Socket,
  body: AsyncIterable<Bytes>,
  announced: number | undefined,
  progress: Progress,
): Promise<void> => {
  let size = 0;
  for await (const bytes of body) {
    if (socket.destroyed) return;
    size += bytes.length;
    if (announced !== undefined && size > announced)
      throw new Error(`the body has more than the ${announced} bytes that were announced`);
    if (bytes.length > 0 && !socket.write(announced === undefined ? chunk(bytes) : bytes))
      await drained(socket);
    progress.moved();
  }
  if (announced === undefined) socket.write('0\r\n\r\n');
  else if (size < announced)
    throw new Error(`the body has ${size} bytes and not the ${announced} that were announced`);
};

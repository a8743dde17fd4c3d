import { childPath, pathPart } from '../core/file-name.ts';
import { limits } from '../core/limits.ts';
import type { AppendFile, Bytes, FileParts, Host, Incoming } from '../platform/host.ts';

/** A body that has arrived. */
export type Arrived = {
  readonly sizeBytes: number;
  /** The whole of it, in memory. */
  read(): Bytes;
  /** Gives its room on the disk back. */
  close(): void;
};

type OpenFile = { readonly file: AppendFile; readonly parts: FileParts; readonly removed: Promise<void> };

/** A file that only this process reaches: it loses its name at once, so that nothing is left however the process ends. */
const openUnnamed = ({ files, random }: Pick<Host, 'files' | 'random'>): OpenFile => {
  const name = `opsctl-upload-${Buffer.from(random(16)).toString('hex')}`;
  const path = childPath(files.temporaryDirectory(), pathPart(name));
  const file = files.append(path, 0o600);
  const parts = files.openParts(path);
  if (parts === undefined) throw new Error(`${path} is gone right after it was made`);
  return { file, parts, removed: files.remove(path) };
};

/** What has come of a body: in memory until that is full, then all of it in a file. */
class Arriving implements Arrived {
  readonly #host: Pick<Host, 'files' | 'random'>;
  #held: Bytes[] = [];
  #disk: OpenFile | undefined;
  sizeBytes = 0;

  constructor(host: Pick<Host, 'files' | 'random'>) {
    this.#host = host;
  }

  take(chunk: Bytes): void {
    this.sizeBytes += chunk.length;
    if (this.#disk === undefined && this.sizeBytes <= limits.arrivingBytes) {
      this.#held.push(chunk);
      return;
    }
    this.#disk ??= openUnnamed(this.#host);
    for (const held of this.#held) this.#disk.file.write(held);
    this.#held = [];
    this.#disk.file.write(chunk);
  }

  async settle(): Promise<void> {
    await this.#disk?.removed;
  }

  read(): Bytes {
    return this.#disk?.parts.read(0, this.sizeBytes) ?? Buffer.concat(this.#held);
  }

  close(): void {
    this.#disk?.parts.close();
    this.#disk?.file.close();
  }
}

/**
 * Waits for the body of a request without holding it: however slowly it comes, it takes `limits.arrivingBytes` of memory.
 * Rejects as `Incoming.receive` does, and with the system's error when the file cannot be written but for a full disk; nothing is left then.
 */
export const arrived = async (
  host: Pick<Host, 'files' | 'random'>,
  incoming: Incoming,
  limitBytes: number,
): Promise<Arrived | 'disk full'> => {
  const body = new Arriving(host);
  try {
    await incoming.receive(limitBytes, (chunk) => body.take(chunk));
    await body.settle();
    return body;
  } catch (error) {
    body.close();
    if ((error as { code?: unknown } | null)?.code === 'ENOSPC') return 'disk full';
    throw error;
  }
};

import { basename, extname } from 'node:path';
import { limits } from '../core/limits.ts';
import type { FileRecord } from './download.ts';

/** Names of devices, whatever ending follows: Windows opens the device, not a file. */
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\.|$)/i;
/** Control characters, marks that turn the direction of a text, characters without a shape, and halves of characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Cut to its longest beginning that still leaves room for the ending. */
const shortened = (name: string): string => {
  if (Buffer.byteLength(name) <= limits.fileNameBytes) return name;
  const ending = Buffer.byteLength(extname(name)) <= 20 ? extname(name) : '';
  const room = limits.fileNameBytes - Buffer.byteLength(ending);
  let start = '';
  let size = 0;
  for (const letter of name) {
    size += Buffer.byteLength(letter);
    if (size > room) break;
    start += letter;
  }
  return start + ending;
};

/**
 * The name comes from whoever uploaded the file: only its last part, so that it cannot point outside this directory, no leading
 * dot, dash or blank, so that it is no settings file and no flag, nothing that a terminal obeys or nobody sees, no device, and
 * no longer than a name can be.
 */
export const safeName = ({ id, filename }: Pick<FileRecord, 'id' | 'filename'>): string => {
  const last = basename(filename.replaceAll('\\', '/'));
  const safe = last
    .replace(UNSEEN, '_')
    .replace(/[. ]+$/, '')
    .replace(/^[.\s-]+/, (start) => '_'.repeat(start.length));
  const named = DEVICE.test(safe) ? `_${safe}` : safe;
  return named.replaceAll('_', '') === '' ? `file-${id}` : shortened(named);
};

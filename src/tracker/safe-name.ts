import { type FileName, safeFileName } from '../core/file-name.ts';
import type { FileRecord } from './download.ts';

/** The file name of an uploaded file: its name comes from the user who uploaded it. */
export const safeName = ({ id, filename }: Pick<FileRecord, 'id' | 'filename'>): FileName =>
  safeFileName(filename, `file-${id}`);

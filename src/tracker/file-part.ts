import { basename, extname } from 'node:path';
import { invalidArguments, problem } from '../core/problem.ts';
import type { Part } from '../api/upload.ts';
import type { Context } from '../cli/command.ts';
import { absolute } from './absolute-path.ts';

const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.zip': 'application/zip',
};

export const sizeOf = async (context: Context, given: string): Promise<number> => {
  const info = await context.host.files.info(absolute(context, given));
  if (info?.kind !== 'file')
    throw invalidArguments([
      problem('<paths>', 'rule', `${given} ${info ? 'is not a file' : 'does not exist'}`),
    ]);
  return info.sizeBytes;
};

export const filePart = async (context: Context, given: string, index: number): Promise<Part> => {
  const path = absolute(context, given);
  const sizeBytes = await sizeOf(context, given);
  const contentType = types[extname(path).toLowerCase()] ?? 'application/octet-stream';
  return {
    name: `file${index}`,
    filename: basename(path),
    contentType,
    sizeBytes,
    bytes: context.host.files.stream(path),
  };
};

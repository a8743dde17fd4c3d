import { formatRow } from '../core/output-format.ts';
import type { Host } from '../platform/host.ts';
import type { OutputOptions } from './types.ts';

/** A command that takes longer is watched by somebody: its messages are written as they come. */
const HOLD_MS = 1000;

/** Whether a message is to wait; the time counts from the start of the command. */
export const isHeld = ({ format, notes }: OutputOptions, elapsedMs: number): boolean =>
  notes !== undefined && format !== undefined && formatRow(format).isJson === true && elapsedMs < HOLD_MS;

/** Keeps a message back until the command has ended with it, or has gone on for so long that somebody watches. */
export const holdNote = ({ notes }: OutputOptions, host: Host, text: string, elapsedMs: number): void => {
  notes?.push(text);
  if (notes?.length === 1) void host.sleep(HOLD_MS - elapsedMs).then(() => releaseNotes({ notes }, host));
};

/** Writes what waited. */
export const releaseNotes = ({ notes }: Pick<OutputOptions, 'notes'>, host: Host): void => {
  for (const text of notes?.splice(0) ?? []) void host.terminal.stderr.write(`${text}\n`).catch(() => {});
};

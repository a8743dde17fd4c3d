import type { Row } from './cells.ts';

/** Turns rows into text piece by piece: `rows` may be called any number of times, `close` once at the end. */
export type Formatter = { rows(burst: readonly Row[]): string | Promise<string>; close(): string };

/** For a program that starts in a home of its own: where all of them share compiled code (vitest.config.ts). Else each would compile everything anew. */
export const codeCache = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };

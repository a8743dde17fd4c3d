/**
 * The shared directory of compiled code (vitest.config.ts) for programs with a dedicated home. Without it, each program would
 * compile all code again.
 */
export const codeCache = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' };

/** What a check says about what it looked at: the same words in every doctor and every preflight check. `unknown`: it could not be seen. */
export type Level = 'pass' | 'unknown' | 'warn' | 'fail';

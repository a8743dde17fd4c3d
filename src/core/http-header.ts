import { type Problem, problem } from './problem.ts';

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that the HTTP client writes: a second value would contradict the body or the connection. */
const ownHeaders = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);
/** Returns whether HTTP allows this name of a header (RFC 9110 5.1). */
export const isHeaderName = (text: string): boolean => NAME.test(text);
/** Returns whether HTTP allows this value of a header (RFC 9110 5.5): no line ends and no other control characters. */
export const isHeaderValue = (text: string): boolean => VALUE.test(text);
/** Returns the problem of a header that a flag sets. Never repeats the value, which may be a secret. Pure. */
export const headerProblem = (flag: string, name: string, value: string): Problem | undefined => {
  if (!isHeaderName(name))
    return problem(flag, 'format', `must start with the name of a header; got ${JSON.stringify(name)}`);
  if (ownHeaders.has(name.toLowerCase()))
    return problem(flag, 'rule', `cannot set ${name}: opsctl writes this header`);
  return isHeaderValue(value)
    ? undefined
    : problem(
        flag,
        'format',
        `must not contain line ends or characters beyond Latin-1 in the value of ${name}`,
      );
};

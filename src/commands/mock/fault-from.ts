import { parseDuration } from '../../core/duration.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import type { ValuesOf } from '../../cli/command.ts';
import type { faultFlags } from './fault-flags.ts';

const headersOf = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1)
        throw invalidArguments([
          problem('--header', 'format', `must be name=value; got ${JSON.stringify(text)}`),
        ]);
      return [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
    }),
  );

/** `2s`, or `100ms..2s` for a random time between the two. */
const delayOf = (text: string): Record<string, number> => {
  const [least = '', most] = text.split('..');
  const delay_ms = Math.round(parseDuration(least, '--delay'));
  if (most === undefined) return { delay_ms };
  const delay_max_ms = Math.round(parseDuration(most, '--delay'));
  if (delay_max_ms < delay_ms)
    throw invalidArguments([
      problem('--delay', 'format', `must go from the shorter to the longer time; got ${text}`),
    ]);
  return { delay_ms, delay_max_ms };
};

/** The fault that these flags describe, as the control interface takes it. */
export const faultFrom = ({
  header,
  delay,
  'content-type': contentType,
  'bytes-per-second': rate,
  ...plain
}: ValuesOf<typeof faultFlags>): Record<string, unknown> => ({
  ...plain,
  ...(header === undefined ? {} : { headers: headersOf(header) }),
  ...(contentType === undefined ? {} : { content_type: contentType }),
  ...(rate === undefined ? {} : { bytes_per_second: rate }),
  ...(delay === undefined ? {} : delayOf(delay)),
});

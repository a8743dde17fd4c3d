import { resolve } from 'node:path';
import { limits } from '../core/limits.ts';
import { type InvalidArguments, invalidArguments, problem, usageError } from '../core/problem.ts';
import { readJsonText } from '../core/json.ts';
import {
  decodeUtf8,
  nulRemedy,
  placeOfNul,
  refuseInnerMark,
  utf8Remedies,
  utf8Text,
  withoutByteOrderMark,
} from '../core/text.ts';
import type { JsonFault } from '../core/json-scan.ts';
import type { Host } from '../platform/host.ts';
import type { Runtime } from './context.ts';

const tooMuch = (): Error =>
  usageError(
    `standard input has more than ${limits.inputBytes} bytes`,
    [],
    ['give a smaller piece; `opsctl tracker bulk -f -` takes rows without end'],
  );
/** The parts of standard input, at most `limits.inputBytes` together. */
async function* boundedParts({ terminal }: Pick<Host, 'terminal'>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const part of terminal.stdin.bytes()) {
    size += part.length;
    if (size > limits.inputBytes) throw tooMuch();
    yield part;
  }
}
/** Standard input to its end. */
export const wholeInput = async (host: Pick<Host, 'terminal'>): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  for await (const part of boundedParts(host)) parts.push(part);
  return Buffer.concat(parts);
};
/** Standard input as a stream of lines. One line may be as large as a complete input of another command. */
export async function* boundedLines({ terminal }: Pick<Host, 'terminal'>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const part of terminal.stdin.bytes()) {
    const end = part.lastIndexOf(10);
    size = end < 0 ? size + part.length : part.length - end - 1;
    if (size > limits.inputBytes) throw tooMuch();
    yield part;
  }
}
/** Returns the first line of standard input without its line end; undefined if the input is empty. */
export const firstLine = async (host: Pick<Host, 'terminal'>): Promise<string | undefined> => {
  const parts: Uint8Array[] = [];
  for await (const part of boundedParts(host)) {
    parts.push(part);
    if (part.includes(10)) break;
  }
  const input = Buffer.concat(parts);
  return input.length === 0 ? undefined : (decodeUtf8(input, 'standard input', 'usage').split('\n')[0] ?? '');
};

/** Text in UTF-8, without the mark that some editors put before it. A lenient decoder would store question marks. */
export const decodeInput = (bytes: Uint8Array, given: string, flag: string): string => {
  const what = given === '-' ? 'standard input' : given;
  const read = utf8Text(bytes);
  if (read.fault !== undefined) {
    const { fault } = read;
    const wrong = problem(flag, 'format', `names ${what}, which is not text in UTF-8`, fault.what);
    throw invalidArguments([{ ...wrong, file: what, line: fault.line }], utf8Remedies(given, fault));
  }
  refuseInnerMark(read.text, what);
  const place = placeOfNul(read.text);
  if (place === undefined) return withoutByteOrderMark(read.text);
  const wrong = problem(
    flag,
    'format',
    `names ${what}, which is not text in UTF-8`,
    'it contains a NUL character',
  );
  throw invalidArguments([{ ...wrong, file: what, ...place }], [nulRemedy]);
};
/** The text of a file that a flag names; `-` is standard input. */
export const textFile = async (
  { host }: Pick<Runtime, 'host'>,
  given: string,
  flag: string,
): Promise<string> => {
  if (given === '-') return decodeInput(await wholeInput(host), given, flag);
  const path = resolve(host.cwd, given);
  const info = await host.files.info(path);
  if (info?.kind === 'directory')
    throw invalidArguments([problem(flag, 'rule', `names ${given}, which is a directory`)]);
  const bytes = await host.files.readBytes(path);
  if (bytes === undefined)
    throw invalidArguments([problem(flag, 'rule', `names ${given}, which does not exist`)]);
  return decodeInput(bytes, given, flag);
};
/** The error of a JSON text that a flag names, with the file, the line and the column. */
export const refuseJson =
  (given: string, flag: string) =>
  ({ what, hint, line, column, isJson }: JsonFault): InvalidArguments => {
    const file = given === '-' ? 'standard input' : given;
    const wrong = problem(
      flag,
      'format',
      `names ${file}, which ${isJson ? 'cannot be used' : 'is not valid JSON'}: ${what}`,
      hint,
    );
    return invalidArguments([{ ...wrong, file, line, column }]);
  };
/** The JSON value of a file that a flag names; `-` is standard input. */
export const jsonFile = async (
  context: Pick<Runtime, 'host'>,
  given: string,
  flag: string,
  options: Parameters<typeof readJsonText>[2] = {},
): Promise<unknown> => readJsonText(await textFile(context, given, flag), refuseJson(given, flag), options);

/** True if --header names a type other than JSON: then the body is sent as it is. */
export const namesOtherType = (headers: unknown): boolean =>
  Array.isArray(headers) &&
  headers.some((one) => /^content-type\s*[:=]\s*(?!\S*json\b)\S/i.test(String(one)));

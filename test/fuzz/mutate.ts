/** Small changes of an input: files, requests and arguments after a mistake, a truncation or an attack. */
import type { Random } from '../simulator/kernel/random.ts';

const interesting = [
  '',
  '\0',
  '\n',
  '\r\n',
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '-',
  '--',
  '&a',
  '*a',
  '<<',
  '~',
  'null',
  '-1',
  '1e999',
  '__proto__',
  'é',
  '\uD800',
  '￿',
  '%00',
  '../',
  ' ',
];
type Change = (input: Buffer, random: Random, other: Buffer) => Buffer;

const at = (input: Buffer, random: Random): number => random.below(input.length + 1);
const spliced = (input: Buffer, from: number, to: number, middle: Uint8Array): Buffer =>
  Buffer.concat([input.subarray(0, from), middle, input.subarray(to)]);

const changes: readonly Change[] = [
  (input, random) => {
    const flipped = Buffer.from(input);
    const byte = random.below(Math.max(1, input.length));
    if (input.length > 0) flipped[byte] = (flipped[byte] as number) ^ (1 << random.below(8));
    return flipped;
  },
  (input, random) => spliced(input, at(input, random), input.length, Buffer.alloc(0)),
  (input, random) => {
    const from = at(input, random);
    return spliced(input, from, Math.min(input.length, from + 1 + random.below(8)), Buffer.alloc(0));
  },
  (input, random) => {
    const from = at(input, random);
    return spliced(
      input,
      from,
      Math.min(input.length, from + random.below(2)),
      random.bytes(1 + random.below(3)),
    );
  },
  (input, random) => {
    const from = at(input, random);
    return spliced(input, from, from, Buffer.from(random.pick(interesting)));
  },
  (input, random) => {
    const [from, length] = [at(input, random), random.below(40)];
    return spliced(input, from, from, input.subarray(from, from + length));
  },
  (input, random, other) =>
    spliced(input, at(input, random), input.length, other.subarray(at(other, random))),
  (input, random) => {
    const lines = input.toString('latin1').split('\n');
    const [a, b] = [random.below(lines.length), random.below(lines.length)];
    [lines[a], lines[b]] = [lines[b] ?? '', lines[a] ?? ''];
    return Buffer.from(lines.join('\n'), 'latin1');
  },
];
const MOST_BYTES = 64 * 1024;

export const mutated = (corpus: readonly Buffer[], random: Random): Buffer => {
  let input = random.pick(corpus);
  for (let i = 1 + random.below(4); i > 0; i -= 1)
    input = random.pick(changes)(input, random, random.pick(corpus));
  return input.subarray(0, MOST_BYTES);
};

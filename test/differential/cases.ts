/** Common code for the comparisons of opsctl readers with known libraries. */
import { randomFrom, seedOf, type Random } from '../simulator/kernel/random.ts';
import { testSeed } from '../support/seeded.ts';

/** The number of seeded cases of one reader: a slice in `npm test`, the long form in the soak. */
export const caseCount = process.env['OPSCTL_SOAK'] === '1' ? 400_000 : 8_000;

export type Difference = { readonly input: string; readonly own: unknown; readonly expected: unknown };
type Counts = { cases: number; accepted: number; rejected: number; explained: number };
export type Comparison = Counts & { readonly differences: readonly Difference[] };
export type Outcome = { readonly value: unknown } | 'rejected';
/** Returns the result of a reader for an input. Only an expected error counts as a rejection. */
export const outcomeOf = (read: () => unknown, isForeseen: (error: unknown) => boolean): Outcome => {
  try {
    return { value: read() };
  } catch (error) {
    if (!isForeseen(error)) throw error;
    return 'rejected';
  }
};
type Reader<Input> = {
  readonly name: string;
  readonly generate: (random: Random) => Input;
  readonly show: (input: Input) => string;
  readonly own: (input: Input, random: Random) => Outcome | Promise<Outcome>;
  readonly reference: (input: Input) => Outcome | Promise<Outcome>;
  /** The documented choice that explains the difference for this input, if the choice exists. */
  readonly choice?: (input: Input, own: Outcome, expected: Outcome) => string | undefined;
};
const isEqual = (a: Outcome, b: Outcome): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Compares a reader with its reference on seeded inputs, prints the counts, and returns the differences. */
export const compareReaders = async <Input>(reader: Reader<Input>): Promise<Comparison> => {
  const counts: Counts = { cases: 0, accepted: 0, rejected: 0, explained: 0 };
  const differences: Difference[] = [];
  for (let i = 0; i < caseCount; i += 1) {
    const random = randomFrom(seedOf(testSeed, i));
    const input = reader.generate(random);
    const own = await reader.own(input, random);
    const expected = await reader.reference(input);
    counts.cases += 1;
    counts[expected === 'rejected' ? 'rejected' : 'accepted'] += 1;
    if (isEqual(own, expected)) continue;
    if (reader.choice?.(input, own, expected) !== undefined) counts.explained += 1;
    else if (differences.length < 20) differences.push({ input: reader.show(input), own, expected });
  }
  process.stdout.write(
    `${reader.name}: ${counts.cases} cases, ${counts.accepted} accepted, ${counts.rejected} rejected, ${counts.explained} documented choices, ${differences.length} differences\n`,
  );
  return { ...counts, differences };
};

/** Divides bytes into pieces as a network may. */
export const piecesOf = (bytes: Buffer, random: Random): Buffer[] => {
  const most = 1 + random.below(random.chance(0.3) ? 3 : 60);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(most);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
};

import { expect } from 'vitest';
import { NextStep } from '../../src/core/next.ts';

declare module 'vitest' {
  // biome-ignore lint/suspicious/noExplicitAny: the signature of vitest
  interface Matchers<T = any> {
    /** Checks that the sentence of a hint contains the text or matches the expression. */
    toRead(expected: string | RegExp): T;
  }
}

/** A next step equals the sentence that it prints, so tests contain the text that a user reads. */
expect.addEqualityTesters([
  (one: unknown, other: unknown): boolean | undefined => {
    const [step, text] = one instanceof NextStep ? [one, other] : [other, one];
    return step instanceof NextStep && typeof text === 'string' ? step.toString() === text : undefined;
  },
]);
expect.extend({
  toRead: (received: unknown, expected: string | RegExp) => ({
    pass:
      typeof expected === 'string' ? String(received).includes(expected) : expected.test(String(received)),
    message: () => `expected "${String(received)}" to read ${String(expected)}`,
  }),
});

/** A context with the parts that a test gives. A part that the code uses and the test did not give is an error with its name. */
import type { Context } from '../../src/api/context.ts';

/** The parts of an object, by name. A function of a test may have a simpler signature. */
type Parts<T> = {
  readonly [Key in keyof T]?: T[Key] extends (...given: never[]) => unknown
    ? (...given: never[]) => unknown
    : T[Key] extends object
      ? Parts<T[Key]>
      : T[Key];
};

/** Returns an object of these parts. The compiler reports a part that the object does not have. */
export const partlyMade = <T extends object>(parts: Parts<T>): T => parts as unknown as T;
/** Returns a context of these parts. The code must not use any other part. */
export const contextWith = (parts: Parts<Context>): Context =>
  new Proxy(partlyMade<Context>(parts), {
    get: (target, name, receiver) => {
      if (typeof name === 'string' && name !== 'then' && !(name in target))
        throw new Error(`this test gives no context.${name}`);
      return Reflect.get(target, name, receiver);
    },
  });

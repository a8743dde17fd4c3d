/** A context with the parts that a test gives. A part that the code uses and the test did not give is an error with its name. */
import type { Context } from '../../src/api/context.ts';

/** Returns a context of these parts. The types of the parts are checked. */
export const contextWith = (parts: Partial<Context>): Context =>
  new Proxy(parts as Context, {
    get: (target, name, receiver) => {
      if (typeof name === 'string' && name !== 'then' && !(name in target))
        throw new Error(`this test gives no context.${name}`);
      return Reflect.get(target, name, receiver);
    },
  });

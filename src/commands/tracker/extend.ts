import type { Command } from '../../cli/command.ts';

/** A command with some parts replaced. Parts that are made on demand stay so: nothing is read here. */
export const extend = (base: Command, more: Partial<Command>): Command =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(base), ...Object.getOwnPropertyDescriptors(more) },
  ) as Command;

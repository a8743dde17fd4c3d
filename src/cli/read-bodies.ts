import { isAbsolute, join } from 'node:path';
import { messageOf } from '../core/error-message.ts';
import type { Command, Values } from './command.ts';
import type { Host } from '../platform/host.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import { wholeInput } from './standard-input.ts';

const textOf = async (host: Host, given: string): Promise<string> => {
  if (given === '-') return (await wholeInput(host)).toString('utf8');
  if (!given.startsWith('@')) return given;
  const path = given.slice(1);
  const text = await host.files.read(isAbsolute(path) ? path : join(host.cwd, path));
  if (text === undefined)
    throw invalidArguments([problem('--body', 'rule', `names ${path}, which does not exist`)]);
  return text;
};

/** `--body` of a derived command: text, `@file` or `-`, as the object that it must be. */
export const readBodies = async (host: Host, command: Command, values: Values): Promise<Values> => {
  if (typeof values.body !== 'string') return values;
  const text = await textOf(host, values.body);
  if (command.operation === undefined) return { ...values, body: text };
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...values, body };
  } catch (error) {
    throw invalidArguments([problem('--body', 'type', `must be JSON: ${messageOf(error)}`)]);
  }
  throw invalidArguments([problem('--body', 'type', 'must be a JSON object')]);
};

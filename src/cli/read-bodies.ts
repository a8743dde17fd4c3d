import { resolve } from 'node:path';
import { messageOf } from '../core/error-message.ts';
import type { Command, Values } from './command.ts';
import type { Host } from '../platform/host.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import { wholeInput } from '../api/input.ts';
import { decoded } from '../api/text-file.ts';

const textOf = async (host: Host, given: string): Promise<string> => {
  if (given === '-') return decoded(await wholeInput(host), given, '--body');
  if (!given.startsWith('@')) return given;
  const path = given.slice(1);
  const bytes = await host.files.readBytes(resolve(host.cwd, path));
  if (bytes === undefined)
    throw invalidArguments([problem('--body', 'rule', `names ${path}, which does not exist`)]);
  return decoded(bytes, path, '--body');
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

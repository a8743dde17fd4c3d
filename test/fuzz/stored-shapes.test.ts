/** Stored and received texts in which one value is missing or has another type. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { isRecord } from '../../src/core/shape.ts';
import { NetworkError } from '../../src/platform/host.ts';
import { targets } from './targets.ts';
import type { Target } from './target.ts';

type Path = readonly (string | number)[];
const others: readonly unknown[] = [undefined, null, 0, {}, [null]];
/** Returns the paths of all values below this value. */
const pathsOf = (value: unknown, path: Path = []): Path[] => {
  const parts: [string | number, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [i, item])
    : isRecord(value)
      ? Object.entries(value)
      : [];
  return parts.flatMap(([key, item]) => [[...path, key], ...pathsOf(item, [...path, key])]);
};
const replaceAt = (value: unknown, [key, ...rest]: Path, other: unknown): unknown => {
  if (key === undefined) return other;
  const next = replaceAt((value as Record<string | number, unknown>)[key], rest, other);
  if (Array.isArray(value))
    return value.flatMap((item, i) => (i !== key ? [item] : next === undefined ? [] : [next]));
  return { ...(value as object), [key]: next };
};
const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** Returns each text in which one value of one line is missing or has another type. */
const variantsOf = (seed: string): { readonly what: string; readonly input: string }[] => {
  const whole = jsonOf(seed);
  const lines = whole === undefined ? seed.split('\n') : [seed];
  return lines.flatMap((line, number) => {
    const value = jsonOf(line);
    if (!isRecord(value) && !Array.isArray(value)) return [];
    return pathsOf(value).flatMap((path) =>
      others.map((other) => ({
        what: `line ${number + 1}, ${path.join('.')}: ${JSON.stringify(other) ?? 'missing'}`,
        input: lines.with(number, JSON.stringify(replaceAt(value, path, other))).join('\n'),
      })),
    );
  });
};
const accident = async (target: Target, input: string): Promise<string | undefined> => {
  try {
    await target.run(Buffer.from(input));
    return undefined;
  } catch (error) {
    if (error instanceof AppError || error instanceof NetworkError) return undefined;
    return String((error as Error).stack)
      .split('\n')
      .slice(0, 3)
      .join(' ');
  }
};
const seedsOf = ({ name, seeds }: Target): string[] => {
  const directory = join(import.meta.dirname, 'corpus', name.replaceAll(' ', '-'));
  const kept = existsSync(directory)
    ? readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'))
    : [];
  return [...seeds.filter((seed) => typeof seed === 'string'), ...kept];
};
const rows = targets
  .map((target) => ({ target, name: target.name, variants: seedsOf(target).flatMap(variantsOf) }))
  .filter(({ variants }) => variants.length > 0);

describe('a stored file in which one value is missing or has another type is used or refused', () => {
  test.each(rows)('$name', async ({ target, variants }) => {
    const found: string[] = [];
    for (const { what, input } of variants) {
      const error = await accident(target, input);
      if (error !== undefined) found.push(`${what}: ${error}`);
    }
    expect(found).toEqual([]);
  });
});

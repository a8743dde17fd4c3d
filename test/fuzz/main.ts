/** The fuzzer as a program: mutates inputs of a target's corpus and saves the inputs with new coverage. Prints one JSON object. */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createHash } from 'node:crypto';
import { AppError } from '../../src/core/problem.ts';
import { NetworkError } from '../../src/platform/host.ts';
import { randomFrom } from '../simulator/kernel/random.ts';
import { mutated } from './mutate.ts';
import { removeDirectories } from '../support/directory.ts';
import type { Target } from './target.ts';
import { targets } from './targets.ts';

declare const __reached: Uint8Array;
export type Found = { readonly target: string; readonly input: string; readonly error: string };
export type Result = {
  executions: number;
  reached: number;
  corpus: Record<string, number>;
  findings: Found[];
};

const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    seed: { type: 'string', default: '1' },
    executions: { type: 'string', default: '100' },
    corpus: { type: 'string' },
    /** Write new inputs that increase the coverage. */
    keep: { type: 'boolean', default: false },
  },
});
const result: Result = { executions: 0, reached: 0, corpus: {}, findings: [] };
const seen = new Uint8Array(__reached.length);

/** Returns true if the input reached a block that no earlier input reached. */
const isNews = (): boolean => {
  let news = false;
  for (let i = 0; i < seen.length; i += 1)
    if (__reached[i] === 1 && seen[i] === 0) {
      seen[i] = 1;
      result.reached += 1;
      news = true;
    }
  return news;
};
/** Returns the unexpected error, or undefined if the target accepted the input or rejected it with an error message. */
const surprise = async (target: Target, input: Buffer): Promise<string | undefined> => {
  try {
    await target.run(input);
    return undefined;
  } catch (error) {
    if (error instanceof AppError || error instanceof NetworkError) return undefined;
    // Error of the HTTP/1 reader for a malformed response.
    if (
      (error as { code?: unknown }).code === 'MALFORMED' ||
      /malformed|the answer/i.test(String((error as Error).message))
    )
      return undefined;
    return String((error as Error).stack).slice(0, 600);
  }
};

const fuzz = async (target: Target): Promise<void> => {
  const random = randomFrom(Number(values.seed));
  const directory = join(values.corpus ?? '', target.name.replaceAll(' ', '-'));
  const kept =
    values.corpus !== undefined && existsSync(directory)
      ? readdirSync(directory)
          .sort()
          .map((name) => readFileSync(join(directory, name)))
      : [];
  if (values.keep) mkdirSync(directory, { recursive: true });
  const corpus: Buffer[] = [
    ...target.seeds.map((seed) => (typeof seed === 'string' ? Buffer.from(seed) : seed)),
    ...kept,
  ];
  const inputs = [...corpus];
  for (let i = 0; i < Number(values.executions) + inputs.length; i += 1) {
    const input = inputs[i] ?? mutated(corpus, random);
    result.executions += 1;
    const error = await surprise(target, input);
    if (error !== undefined && result.findings.filter((one) => one.target === target.name).length < 5)
      result.findings.push({ target: target.name, input: input.toString('base64'), error });
    if (!isNews() || inputs[i] !== undefined) continue;
    corpus.push(input);
    if (values.keep)
      writeFileSync(join(directory, createHash('sha256').update(input).digest('hex').slice(0, 16)), input);
  }
  result.corpus[target.name] = corpus.length;
};
for (const target of targets)
  if (values.target === undefined || target.name === values.target) await fuzz(target);
process.stdout.write(`${JSON.stringify(result, undefined, 1)}\n`);
removeDirectories();
process.exit(result.findings.length > 0 ? 1 : 0);

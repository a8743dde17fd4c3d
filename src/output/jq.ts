import { usageError } from '../kernel/problem.ts';

/** Runs a jq program over the whole answer; every result is a line, strings raw when they are alone. */
export async function* jqChunks(data: unknown, program: string): AsyncIterable<string> {
  const jq = await import('jq-wasm');
  let text: string;
  try {
    text = await jq.raw(JSON.stringify(data), program, ['-c', '-r']);
  } catch (error) {
    throw usageError(`--jq: ${(error instanceof Error ? error.message : String(error)).trim().replace(/^jq: /, '')}`);
  }
  if (text !== '') yield `${text}\n`;
}

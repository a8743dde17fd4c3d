import type { LooseInput, Operation } from '../core/operation.ts';

/** How a real deployment differs from the documents (spec/program#settings): its path prefix, and its word for `planningtool`. */
export type DeploymentWords = { readonly basePath?: string; readonly planningWord?: string };

const NEUTRAL = 'planningtool';

/** `v3`, `/api/v3/` and `/` as a prefix that stands before a path. */
export const prefixOf = (text: string): string => {
  const path = text.replace(/^\/+|\/+$/g, '');
  return path === '' ? '' : `/${path}`;
};

const renamed = (value: unknown, from: string, to: string): unknown => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.startsWith(`${from}_`) ? to + key.slice(from.length) : key,
      renamed(item, from, to),
    ]),
  );
};

const isPlain = (word: string | undefined): word is undefined | typeof NEUTRAL =>
  word === undefined || word === '' || word === NEUTRAL;

/** The deployment has the words of the documents. */
export const isUsual = ({ planningWord }: DeploymentWords): boolean => isPlain(planningWord);

/** A row in the words of the deployment. Pure. */
export const operationInDialect = (operation: Operation, { planningWord }: DeploymentWords): Operation =>
  isPlain(planningWord)
    ? operation
    : { ...operation, path: operation.path.replaceAll(NEUTRAL, planningWord) };

/** An input in the words of the deployment; it was checked before. Pure. */
export const inputInDialect = (input: LooseInput, { planningWord }: DeploymentWords): LooseInput =>
  isPlain(planningWord) || input.body === undefined
    ? input
    : { ...input, body: renamed(input.body, NEUTRAL, planningWord) as Record<string, unknown> };

/** An answer in the words of the documents. Pure. */
export const neutral = (answer: unknown, { planningWord }: DeploymentWords): unknown =>
  isPlain(planningWord) ? answer : renamed(answer, planningWord, NEUTRAL);

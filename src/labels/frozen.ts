import { type Problem, problem } from '../core/problem.ts';
import type { FieldDef, LiveField } from './definition.ts';

/** 0 in a file is "as many as the service allows", which the service answers with its number. */
export const isSameEntries = (wanted: number | null, live: number | undefined): boolean =>
  wanted === (live ?? null) || (wanted === 0 && live !== undefined);

const typeProblem = (wanted: FieldDef, live: LiveField, path: string): Problem[] =>
  wanted.type === live.type
    ? []
    : [
        problem(
          `${path}.type`,
          'rule',
          `field ${live.name} was published as a ${live.type} field; its type is frozen`,
          'add a new field and disable this one',
        ),
      ];

const entriesProblem = (wanted: FieldDef, live: LiveField, path: string): Problem[] => {
  const { maxEntries } = wanted;
  if (maxEntries === undefined || isSameEntries(maxEntries, live.maxEntries)) return [];
  if (maxEntries === null || live.maxEntries === undefined) {
    const then = live.maxEntries === undefined ? 'for one value' : 'for several values';
    return [problem(`${path}.maxEntries`, 'rule', `field ${live.name} was published ${then}; that is fixed`)];
  }
  const floor = live.publishedEntries ?? live.maxEntries;
  const text = `field ${live.name} was published with maxEntries ${floor}; it cannot shrink to ${maxEntries}`;
  return maxEntries < floor ? [problem(`${path}.maxEntries`, 'rule', text)] : [];
};

/** spec/labels#lifecycle-7, judged before anything is sent. */
export const frozenProblems = (wanted: FieldDef, live: LiveField, path: string): Problem[] => {
  if (live.state === 'UNPUBLISHED_DRAFT') return [];
  const type = typeProblem(wanted, live, path);
  return type.length > 0 ? type : entriesProblem(wanted, live, path);
};

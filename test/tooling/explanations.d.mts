import type { Category } from '../../src/core/problem.ts';

export declare function explanations(root: string): {
  readonly errors: Readonly<
    Record<
      string,
      {
        readonly category: Category;
        readonly messages: readonly string[];
        readonly tryThis: readonly string[];
      }
    >
  >;
  readonly guards: Readonly<Record<string, unknown>>;
};

import type { Failure } from './failures.d.mts';

type Test = {
  readonly title: string;
  readonly ancestorTitles: readonly string[];
  readonly status: string;
  readonly meta?: {
    readonly holds?: readonly string[];
    readonly requires?: readonly string[];
    readonly knows?: readonly string[];
  };
};
type Known = {
  readonly required: Set<string>;
  readonly optional: Set<string>;
  readonly states: Map<string, Set<string>>;
};
type Named = { readonly mark: string; readonly file: string; readonly pattern: RegExp };
export const namedTests: (tables: readonly string[]) => Named[];
export const readMarks: (
  report: {
    readonly testResults: readonly { readonly name?: string; readonly assertionResults: readonly Test[] }[];
  },
  known?: Known,
  named?: readonly Named[],
) => Known;
export const missingMarks: (known: Known, isWhole?: boolean) => Failure[];

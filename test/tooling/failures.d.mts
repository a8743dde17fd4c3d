export type Failure = { readonly name: string; readonly error: string };
type FileResult = {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly ancestorTitles: readonly string[];
    readonly title: string;
    readonly failureMessages: readonly string[];
  }[];
};
export const failedTests: (
  report: { readonly testResults: readonly FileResult[] },
  root?: string,
) => Failure[];
export const saidAtOnce: (test: {
  readonly module: { readonly relativeModuleId: string };
  readonly fullName: string;
  result(): { readonly state: string; readonly errors?: readonly { readonly message?: string }[] };
}) => string | undefined;
export const mostCpu: (
  modules: readonly {
    readonly relativeModuleId: string;
    meta(): { readonly cpuSeconds?: number };
  }[],
  count: number,
) => string;
export const failureLines: (failures: readonly Failure[]) => string[];

export type SourceFile = { readonly name: string; readonly text: string };
export declare const testsReaching: (
  files: readonly SourceFile[],
  seeds: readonly string[],
) => readonly string[];

export type SourceChange = {
  /** Path relative to the root of the project. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
};
export function buildSimulator(outfile: string, changes?: readonly SourceChange[]): Promise<string>;

export type Part = {
  readonly name: string;
  readonly tests: readonly string[];
  readonly missing?: string;
  readonly supply: string;
  readonly isOptional?: boolean;
};
type Environment = Readonly<Record<string, string | undefined>>;
export declare const provideParts: (options?: {
  readonly env?: Environment;
  readonly announce?: (line: string) => void;
}) => readonly Part[];
export declare const partsEnvironment: (env?: Environment) => Record<string, string>;
export declare const missingTable: (parts: readonly Part[]) => readonly string[];
export declare const failing: (parts: readonly Part[], env?: Environment) => readonly Part[];

export const sbomText: (input: {
  readonly root: string;
  readonly directories: readonly string[];
  readonly facts: {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly license: string;
    readonly author: string;
  };
  readonly seconds: number;
}) => string;

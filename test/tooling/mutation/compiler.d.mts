export declare const makeCompiler: (copy: string) => {
  readonly refusal: (put: () => void, restore: () => void) => string | undefined;
};

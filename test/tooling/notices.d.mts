export type Bundled = {
  readonly name: string;
  readonly directory: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
};
export const bundledPackages: (ids: readonly string[]) => Bundled[];
export const noticesText: (packages: readonly Bundled[]) => string;

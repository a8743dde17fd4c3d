type Bundled = {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
};
export const bundledPackages: (ids: readonly string[]) => Bundled[];
export const noticesText: (packages: readonly Bundled[]) => string;
export const sbom: (
  name: string,
  version: string,
  packages: readonly Bundled[],
) => { components: { purl: string }[] };

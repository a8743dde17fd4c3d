/** A file or a link of a package, with its absolute path. */
export type PackageEntry =
  | {
      readonly path: string;
      readonly data: Buffer;
      readonly mode: number;
      readonly target?: undefined;
    }
  | { readonly path: string; readonly target: string; readonly data?: undefined; readonly mode?: undefined };
export type PackageFacts = {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly homepage?: string;
  readonly maintainer: string;
  readonly license: string;
  readonly depends: readonly string[];
  readonly entries: readonly PackageEntry[];
};
export declare const alpineArchive: (
  facts: PackageFacts & { readonly size: number },
  seconds: number,
) => Buffer;

export type Packed = { readonly path: string; readonly name: string; readonly files: readonly string[] };
export declare const pack: (
  from: string,
  to: string,
  env?: Readonly<Record<string, string | undefined>>,
) => Packed;
export declare const install: (tarball: string, prefix: string) => string;
export declare const sha256: (path: string) => string;
export declare const artifactNames: (version: string, skip?: readonly string[]) => string[];

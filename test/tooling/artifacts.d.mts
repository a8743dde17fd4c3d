import type { SigningKey } from './signature.d.mts';

export type Packed = { readonly path: string; readonly name: string; readonly files: readonly string[] };
export declare const pack: (
  from: string,
  to: string,
  env?: Readonly<Record<string, string | undefined>>,
) => Packed;
export declare const install: (tarball: string, prefix: string) => string;
export declare const sha256: (path: string) => string;
export declare const artifactNames: (version: string, skip?: readonly string[]) => string[];
/** The file names of the parts that `--skip` excludes. */
export declare const optionalParts: Readonly<Record<string, (version: string) => string>>;
export declare const checksumNames: (key: SigningKey | undefined) => string[];
export type ReleaseOptions = {
  readonly url?: string | undefined;
  readonly maintainer: string;
  readonly skip?: readonly string[];
  readonly key?: SigningKey | undefined;
  /** A packed archive that the release contains instead of a new one. */
  readonly packed?: string | undefined;
};
export declare const makeArtifacts: (
  root: string,
  to: string,
  options: ReleaseOptions,
) => Promise<{ readonly names: readonly string[]; readonly sums: string }>;

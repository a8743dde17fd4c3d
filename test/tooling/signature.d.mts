import type { KeyObject } from 'node:crypto';

export type SigningKey = { readonly id: Buffer; readonly secret: KeyObject; readonly publicKey: string };
export declare const KEY_VARIABLE: string;
export declare const parseSecretKey: (text: string, password?: string) => SigningKey;
export declare const keyIdOf: (key: SigningKey) => string;
export declare const signatureText: (key: SigningKey, data: Uint8Array, trustedComment: string) => string;
export declare const readSigningKey: (
  root: string,
  file: string | undefined,
  env?: Record<string, string | undefined>,
) => SigningKey | undefined;
export declare const signChecksums: (key: SigningKey, sums: Uint8Array, version: string) => string;
export declare const committedPublicKey: (root: string) => string | undefined;
export declare class SigningProblem extends Error {
  constructor(message: string, way: string);
  readonly problem: string;
  readonly way: string;
}

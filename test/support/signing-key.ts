/** A secret key of minisign without a password, made for one test. minisign writes the checksum of such a key as zeros. */
import { generateKeyPairSync, randomBytes, scryptSync } from 'node:crypto';

type Pair = { readonly secretText: string; readonly publicText: string; readonly publicKey: string };

export const makeSigningKey = (password?: string): Pair => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32);
  const half = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const id = randomBytes(8);
  const own = Buffer.concat([id, seed, half, Buffer.alloc(32)]);
  const salt = password === undefined ? Buffer.alloc(32) : randomBytes(32);
  const limits = Buffer.alloc(16);
  if (password !== undefined) {
    // The smallest limits of libsodium: crypto_pwhash_scryptsalsa208sha256 chooses N = 1024 with them.
    limits.writeBigUInt64LE(32_768n, 0);
    limits.writeBigUInt64LE(16_777_216n, 8);
  }
  const stream =
    password === undefined
      ? Buffer.alloc(own.length)
      : scryptSync(password, salt, own.length, { N: 1024, r: 8, p: 1 });
  const secret = Buffer.concat([
    Buffer.from(password === undefined ? 'Ed\0\0B2' : 'EdScB2'),
    salt,
    limits,
    own.map((byte, index) => byte ^ (stream[index] ?? 0)),
  ]);
  const line = Buffer.concat([Buffer.from('Ed'), id, half]).toString('base64');
  return {
    secretText: `untrusted comment: minisign encrypted secret key\n${secret.toString('base64')}\n`,
    publicText: `untrusted comment: minisign public key\n${line}\n`,
    publicKey: line,
  };
};

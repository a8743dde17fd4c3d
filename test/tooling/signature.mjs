// @ts-check
// Signs the checksums of a release with a key of minisign, which the maintainers keep. The key comes from a file or from the
// environment, never from an argument, and no child process gets it. `minisign -V` and `opsctl version --verify` verify the
// signature.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  scryptSync,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

/** The names of the environment variables with the key and its password. */
export const KEY_VARIABLE = 'RELEASE_SIGNING_KEY';
const PASSWORD_VARIABLE = 'RELEASE_SIGNING_PASSWORD';

/** A problem of the key, with its solution. */
export class SigningProblem extends Error {
  /** @param {string} message @param {string} way */
  constructor(message, way) {
    super(`${message}\n  try: ${way}`);
    this.problem = message;
    this.way = way;
  }
}

/** DER of an Ed25519 private key (PKCS #8) and public key (SPKI) without the last 32 bytes (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const LENGTH = 158;
const ENCRYPTED_FROM = 54;
const [ENCRYPTED, PLAIN] = ['Sc', '\0\0'];
/** `MINISIGN_PASSWORD` of the largest key needs 1 GiB (crypto_pwhash_scryptsalsa208sha256 of libsodium). */
const MOST_MEMORY = 1536 * 1024 * 1024;

/**
 * The parameters of scrypt for the limits in a key file, as libsodium computes them.
 * @param {number} operations @param {number} memory
 */
const scryptParameters = (operations, memory) => {
  const ops = Math.max(operations, 32_768);
  const isSmall = ops < memory / 32;
  const most = isSmall ? ops / 32 : memory / 1024;
  let bits = 1;
  while (bits < 63 && 2 ** bits <= most / 2) bits += 1;
  const cost = 2 ** bits;
  return {
    N: cost,
    r: 8,
    p: isSmall ? 1 : Math.max(1, Math.floor(Math.min(ops / 4 / cost, 0x3fffffff) / 8)),
  };
};

/** @param {Buffer} bytes @param {string} password */
const decrypted = (bytes, password) => {
  const [salt, operations, memory] = [
    bytes.subarray(6, 38),
    Number(bytes.readBigUInt64LE(38)),
    Number(bytes.readBigUInt64LE(46)),
  ];
  const stream = scryptSync(password, salt, LENGTH - ENCRYPTED_FROM, {
    ...scryptParameters(operations, memory),
    maxmem: MOST_MEMORY,
  });
  return bytes.subarray(ENCRYPTED_FROM).map((byte, index) => byte ^ (stream[index] ?? 0));
};

/**
 * Reads the text of a minisign secret key. The public half inside the key proves the password.
 * @type {typeof import('./signature.mjs').parseSecretKey}
 */
export const parseSecretKey = (text, password) => {
  const bytes = Buffer.from(text.trim().split('\n').at(-1) ?? '', 'base64');
  const [algorithm, derivation, sum] = [0, 2, 4].map((at) => bytes.toString('latin1', at, at + 2));
  if (
    bytes.length !== LENGTH ||
    algorithm !== 'Ed' ||
    sum !== 'B2' ||
    (derivation !== ENCRYPTED && derivation !== PLAIN)
  )
    throw new SigningProblem(
      'the signing key is not a secret key of minisign',
      'minisign -G -s opsctl.key -p minisign.pub',
    );
  const isEncrypted = derivation === ENCRYPTED;
  if (isEncrypted && !password)
    throw new SigningProblem('the signing key has a password', `set ${PASSWORD_VARIABLE}`);
  const own = Buffer.from(isEncrypted ? decrypted(bytes, password ?? '') : bytes.subarray(ENCRYPTED_FROM));
  const [id, seed, publicBytes] = [own.subarray(0, 8), own.subarray(8, 40), own.subarray(40, 72)];
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const half = createPublicKey(secret).export({ format: 'der', type: 'spki' }).subarray(-32);
  if (!half.equals(publicBytes))
    throw isEncrypted
      ? new SigningProblem('the password of the signing key is wrong', `set ${PASSWORD_VARIABLE}`)
      : new SigningProblem('the signing key is damaged', 'use the backup of the key');
  return { id, secret, publicKey: Buffer.concat([Buffer.from('Ed'), id, publicBytes]).toString('base64') };
};

/** @type {typeof import('./signature.mjs').keyIdOf} */
export const keyIdOf = ({ id }) => Buffer.from(id).reverse().toString('hex').toUpperCase();

/**
 * Returns the text of a `.minisig` file for `data`. The trusted comment is signed as well.
 * @type {typeof import('./signature.mjs').signatureText}
 */
export const signatureText = (key, data, trustedComment) => {
  if (/[\r\n]/.test(trustedComment)) throw new Error('a trusted comment has one line');
  const own = signBytes(null, createHash('blake2b512').update(data).digest(), key.secret);
  const whole = signBytes(null, Buffer.concat([own, Buffer.from(trustedComment)]), key.secret);
  return [
    'untrusted comment: signature of the opsctl release, verify it with minisign or opsctl version --verify',
    Buffer.concat([Buffer.from('ED'), key.id, own]).toString('base64'),
    `trusted comment: ${trustedComment}`,
    whole.toString('base64'),
    '',
  ].join('\n');
};

/**
 * Verifies a signature of `signatureText`, before a release is published that nobody can verify.
 * @param {string} publicKey @param {Uint8Array} data @param {string} text
 */
const isSignatureOf = (publicKey, data, text) => {
  const key = createPublicKey({
    key: Buffer.concat([SPKI, Buffer.from(publicKey, 'base64').subarray(10)]),
    format: 'der',
    type: 'spki',
  });
  const own = Buffer.from(text.split('\n')[1] ?? '', 'base64').subarray(10);
  return verifyBytes(null, createHash('blake2b512').update(data).digest(), key, own);
};

/**
 * The minisign public key of the repository: the last line of minisign.pub.
 * @type {typeof import('./signature.mjs').committedPublicKey}
 */
export const committedPublicKey = (root) => {
  const path = join(root, 'minisign.pub');
  if (!existsSync(path)) return undefined;
  return readFileSync(path, 'utf8').trim().split('\n').at(-1)?.trim();
};

/**
 * Reads the key file. Rejects a file that others can read, and a file in the repository.
 * @param {string} root @param {string} given
 */
const readKeyFile = (root, given) => {
  const path = resolve(given);
  if (!existsSync(path))
    throw new SigningProblem(`${path} does not exist`, '--signing-key with the path of the key');
  const inside = relative(realpathSync(root), realpathSync(path));
  if (!inside.startsWith('..'))
    throw new SigningProblem(
      `the signing key ${path} is inside the repository`,
      'move it to a directory that is not part of a repository, such as ~/.minisign',
    );
  const { mode } = statSync(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new SigningProblem(
      `other users can access the signing key ${path} (mode ${(mode & 0o777).toString(8)})`,
      `chmod 600 ${path}`,
    );
  return readFileSync(path, 'utf8');
};

/**
 * Returns the signing key, or undefined if none is configured. Removes the key and the password from the environment, so that
 * npm, git and the packagers do not get them.
 * @type {typeof import('./signature.mjs').readSigningKey}
 */
export const readSigningKey = (root, file, env = process.env) => {
  const [fromEnvironment, password] = [env[KEY_VARIABLE], env[PASSWORD_VARIABLE]];
  delete env[KEY_VARIABLE];
  delete env[PASSWORD_VARIABLE];
  const text = file === undefined ? fromEnvironment || undefined : readKeyFile(root, file);
  if (text === undefined) return undefined;
  const key = parseSecretKey(text, password);
  const committed = committedPublicKey(root);
  if (committed === key.publicKey) return key;
  const way = `printf 'untrusted comment: minisign public key ${keyIdOf(key)}\\n${key.publicKey}\\n' > minisign.pub, and commit it`;
  throw committed === undefined
    ? new SigningProblem(
        'the repository does not contain minisign.pub, the public half of the signing key',
        way,
      )
    : new SigningProblem(`minisign.pub does not belong to the signing key ${keyIdOf(key)}`, way);
};

/**
 * Signs the checksums of a release.
 * @type {typeof import('./signature.mjs').signChecksums}
 */
export const signChecksums = (key, sums, version) => {
  const text = signatureText(key, sums, `opsctl ${version} file:SHA256SUMS`);
  if (!isSignatureOf(key.publicKey, sums, text)) throw new Error('the new signature does not verify');
  return text;
};

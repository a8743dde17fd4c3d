// @ts-check
// Writes provenance.json, which lists the commit, the inputs and the command that made the files of a release, as an
// in-toto statement with the SLSA predicate. The statement is not signed. A signing service (npm provenance, cosign)
// accepts it unchanged.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param {string} root @param {string[]} args */
const git = (root, ...args) => {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
};

/**
 * Removes the user information from a URL, because it may contain a password.
 * @param {string | undefined} address
 */
const withoutUser = (address) => address?.replace(/^(\w+:\/\/)[^@/]*@/, '$1');

/** @param {string} path */
const digestOf = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/**
 * `subjects` are pairs of a file name and its SHA-256.
 * @param {string} root @param {{ readonly name: string, readonly version: string }} facts @param {readonly (readonly [string, string])[]} subjects
 */
export const provenanceText = (root, facts, subjects) => {
  const isCheckout = existsSync(join(root, '.git'));
  const commit = isCheckout ? git(root, 'rev-parse', 'HEAD') : undefined;
  const source = withoutUser(isCheckout ? git(root, 'remote', 'get-url', 'origin') : undefined);
  const lock = join(root, 'package-lock.json');
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:opsctl:release:1',
        externalParameters: { name: facts.name, version: facts.version },
        internalParameters: { node: process.version, platform: `${process.platform}-${process.arch}` },
        resolvedDependencies: [
          {
            name: 'source',
            ...(source === undefined ? {} : { uri: source }),
            ...(commit === undefined ? {} : { digest: { gitCommit: commit } }),
          },
          ...(existsSync(lock) ? [{ name: 'package-lock.json', digest: { sha256: digestOf(lock) } }] : []),
        ],
      },
      runDetails: { builder: { id: 'urn:opsctl:npm-run-release' } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
};

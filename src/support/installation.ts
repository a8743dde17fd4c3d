/** What is installed: its newest version, its packages, its files, and the signed checksums of its release. */
import { call } from '../core/program-call.ts';
import { createHash, createPublicKey, hash, verify } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import type { Runtime } from '../api/context.ts';
import { compareVersions } from '../api-specs/etcd/versions.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { readJsonText } from '../core/json.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { redactedUrl } from '../core/redact-secrets.ts';
import { isRecord } from '../core/shape.ts';
import { printable } from '../core/text.ts';
import { countText } from '../core/format.ts';
import type { Host } from '../platform/host.ts';

type Files = {
  readonly directory: string;
  readonly files: number;
  readonly changed: readonly string[];
  readonly missing: readonly string[];
  readonly added: readonly string[];
  /** Links in place of files or directories. A package contains none, and the target can change after the verification. */
  readonly linked: readonly string[];
  /** SHA-256 of the list itself: two installations of one release have the same. */
  readonly sha256: string;
  /** Packages that this program loads and that npm installs separately: the list has no checksum of them. */
  readonly not_verified: readonly OptionalPackage[];
};
type OptionalPackage = { readonly name: string; readonly version: string; readonly directory: string };
/** The signature of the release, and whether the signed checksums contain this installation. */
type Signed = {
  readonly key_id: string;
  readonly trusted_comment: string;
  readonly release_file: string;
  readonly is_of_release: boolean;
};
export type Verification = Partial<Files> & { readonly sha256: string; readonly signature?: Signed };

const LIST = 'dist/SHA256SUMS';
type Row = { readonly sum: string; readonly path: string };
/** A line is a row as a whole: a character that some programs read as the end of a line would hide the rest of it. */
const rowOfLine = (line: string): Row | undefined => {
  const [, sum, path] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? [];
  return sum === undefined || path === undefined ? undefined : { sum, path };
};
const rowsOf = (list: string): Row[] => list.split(/\r?\n/).flatMap((line) => rowOfLine(line) ?? []);

const failure = (message: string, tryThis: readonly string[], code = 'NOT_VERIFIABLE'): AppError =>
  new AppError('config', message, { code, tryThis });

type Entry = { readonly path: string; readonly isLink: boolean };
/** The files and links at a path of the package and below it. opsctl reads no directory through a link. */
const entriesAt = async (files: Host['files'], root: string, path: string): Promise<Entry[]> => {
  const info = await files.info(join(root, path));
  if (info === undefined) return [];
  if (info.kind !== 'directory') return [{ path, isLink: info.kind === 'link' }];
  const names = await files.list(join(root, path));
  return (await Promise.all(names.map((name) => entriesAt(files, root, `${path}/${name}`)))).flat();
};

const PACKAGE = 'opsctl';
const VERSION = /^\d+\.\d+\.\d+[\w.+-]{0,50}$/;
const unknownVersion = (from: string, reason: string, tryThis: string): AppError =>
  new AppError('network', `${from} did not report the newest version: ${printable(reason.trim())}`, {
    code: 'VERSION_UNKNOWN',
    tryThis: [tryThis],
  });
type Query = Pick<Runtime, 'host' | 'settings' | 'signal'>;
/** The newest version in the registry that npm of this machine is configured for. */
const npmVersion = async ({ host, signal }: Query, limitMs: number): Promise<string> => {
  // The .npmrc of the current directory, for example of a cloned repository, can name any variable and any registry.
  const found = await host.processes.run(...call`npm view ${PACKAGE} version --global`, {
    timeoutMs: limitMs,
    signal,
  });
  signal.throwIfAborted();
  const latest = found.stdout.trim();
  if (found.code === 0 && VERSION.test(latest)) return latest;
  const reason =
    found.startError ??
    (found.timedOut
      ? `no response within ${limitMs / 1000} s`
      : (found.stderr.split('\n').find((line) => /\bE\d{3}\b|ENOT|ECONN/.test(line)) ??
        `exited with code ${found.code}`));
  throw unknownVersion('npm', reason, `npm view ${PACKAGE} version`);
};
/** The version in a JSON page: `version` as npm writes it, or `tag_name` as GitHub does. */
const pageVersion = async ({ host, signal }: Query, url: string, limitMs: number): Promise<string> => {
  const fail = (reason: string): AppError =>
    unknownVersion(redactedUrl(url), reason, 'opsctl config get update_url');
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  // The header names the program only, because GitHub rejects requests without a name.
  const headers = { accept: 'application/json', 'user-agent': PACKAGE };
  const own = { timeoutMs: limitMs, maxReplyBytes: 1_000_000, signal: limit, needsTls: true } as const;
  const read = async (): Promise<[number, string]> => {
    const reply = await host.network.request({ method: 'GET', url, headers, ...own });
    return [reply.status, await reply.text()];
  };
  const [status, text] = await read().catch((error: unknown) => {
    signal.throwIfAborted();
    throw fail(limit.aborted ? `no response within ${limitMs / 1000} s` : messageOf(error));
  });
  if (status !== 200) throw fail(`HTTP ${status}`);
  const page = readJsonText(text, () => fail('the page is not JSON'));
  const given = isRecord(page) ? (page.version ?? page.tag_name) : undefined;
  const latest = typeof given === 'string' ? given.replace(/^v/, '') : '';
  if (VERSION.test(latest)) return latest;
  throw fail('the page has no version in the fields version and tag_name');
};
/** Returns the newest version, from the page of `update_url` if it is set, and otherwise from npm. */
export const latestVersion = async (query: Query, limitMs: number): Promise<string> => {
  const page = query.settings.get('update_url');
  return page === undefined ? npmVersion(query, limitMs) : pageVersion(query, page.value, limitMs);
};
/** Compares two versions of opsctl; a version before a release (`-rc.1`) is older than the release. Pure. */
export const compareReleases = (left: string, right: string): number => {
  const early = (text: string): string => /^[^+-]*-([^+]*)/.exec(text)?.[1] ?? '';
  const [a, b] = [early(left), early(right)];
  const byName = (a === '' ? 1 : 0) - (b === '' ? 1 : 0) || a.localeCompare(b, 'en', { numeric: true });
  return compareVersions(left, right) || byName;
};

const NOTICE_LIMIT_MS = 2_000;
const DAY_MS = 86_400_000;
/**
 * Starts the daily check next to a command. The returned function ends the check and returns the notice, if a newer version
 * exists. The file is written before the check, so that a failure is repeated tomorrow and not by each command; without
 * the file, nothing is checked.
 */
export const startUpdateCheck = async (
  { host, settings, signal }: Query,
  version: string,
): Promise<(isDone: boolean) => Promise<string | undefined>> => {
  const none = async () => undefined;
  const file = childPath(settings.directories.cache, pathPart('update-check.json'));
  const text = await host.files.read(file).catch(() => undefined);
  const checkedMs = Number(/"checked_ms":(\d+)/.exec(text ?? '')?.[1] ?? Number.NaN);
  const ageMs = host.now() - checkedMs;
  if (ageMs >= 0 && ageMs < DAY_MS) return none;
  try {
    await host.files.makeDirectory(settings.directories.cache, 0o700);
    await host.files.replace(file, `${JSON.stringify({ checked_ms: host.now() })}\n`, 0o600);
  } catch {
    return none;
  }
  const controller = new AbortController();
  const query = { host, settings, signal: AbortSignal.any([signal, controller.signal]) };
  const checking = latestVersion(query, NOTICE_LIMIT_MS).catch(() => undefined);
  return async (isDone) => {
    if (!isDone) controller.abort();
    const latest = await checking;
    if (latest === undefined || compareReleases(version, latest) >= 0) return undefined;
    return `opsctl ${latest} is available (installed: ${version}); opsctl config set update_notice off disables this notice`;
  };
};

const directoryOf = async ({ files }: Host, program: string): Promise<string> =>
  dirname(dirname((await files.realPath(program)) ?? program));

type Component = {
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
};
type BillOfMaterials = { readonly components: readonly Component[] };
const BILL = 'dist/sbom.cdx.json';
/** Reads the CycloneDX document that the build wrote into this installation. */
export const readBillOfMaterials = async (host: Host, version: string): Promise<BillOfMaterials> => {
  const [, program] = host.self;
  const directory = program === undefined ? undefined : await directoryOf(host, program);
  const text = directory === undefined ? undefined : await host.files.read(join(directory, BILL));
  if (text === undefined)
    throw failure(
      directory === undefined
        ? 'a single executable does not contain its bill of materials'
        : `cannot list the packages of ${directory}: ${BILL} not found`,
      [`download sbom.cdx.json of the release ${version}`],
      'NO_BILL_OF_MATERIALS',
    );
  const fail = (): AppError =>
    failure(`${BILL} of ${directory} is damaged`, ['opsctl version --verify'], 'NO_BILL_OF_MATERIALS');
  const bill = readJsonText(text, fail);
  if (!isRecord(bill) || !Array.isArray(bill.components)) throw fail();
  return bill as BillOfMaterials;
};
const licenseText = ({ licenses = [] }: Component): string =>
  licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '').join(', ');
/** One line for each package: its name, its version and its license. */
export const billText = ({ components }: BillOfMaterials): string => {
  const rows = components.map((one) => [
    printable([one.group, one.name].filter(Boolean).join('/')),
    printable(one.version),
    printable(licenseText(one)),
  ]);
  const width = (at: number): number => Math.max(...rows.map((row) => row[at]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return [
    ...rows.map(([name = '', version = '', license = '']) =>
      `${name.padEnd(first)}  ${version.padEnd(second)}  ${license}`.trimEnd(),
    ),
    countText(rows.length, 'package'),
  ].join('\n');
};

const PARTS: readonly string[] = ['bin', 'dist', 'completions', 'docs'];
/** The texts at the top of a package, such as README.md and LICENSE. */
const TEXT = /^[A-Z]+(\.md)?$/;
/** True for a path that the list of a package can contain. Another path leads to a file that is not part of the package. */
const isListed = (path: string): boolean => {
  const [part = '', ...rest] = path.split('/');
  const isBelow = PARTS.includes(part) && rest.length > 0;
  const isTop = path === 'package.json' || TEXT.test(path);
  return isTop || (isBelow && rest.every((one) => !['', '.', '..'].includes(one)));
};
/** Documents for people. The packages for Debian, Red Hat and Alpine omit the texts at the top, and other packagers the pages. */
const isPage = (path: string): boolean => path.startsWith('docs/');
const isText = (path: string): boolean => TEXT.test(path);
/**
 * The rows of the list in a package. Every line must be a row, because a skipped line would not be verified, and each
 * file has one row. The list itself has none.
 */
const readRows = (list: string, directory: string): Row[] => {
  const known = new Set<string>();
  return list.split('\n').flatMap((line, i, lines) => {
    if (line === '' && i === lines.length - 1) return [];
    const row = rowOfLine(line);
    const isValid = row !== undefined && row.path !== LIST && isListed(row.path);
    if (isValid && !known.has(row.path)) {
      known.add(row.path);
      return [row];
    }
    const why = isValid ? 'repeats a path' : 'is invalid';
    throw failure(`cannot verify ${directory}: line ${i + 1} of ${LIST} ${why}`, [
      'install the package again',
    ]);
  });
};

const KEYCHAIN = '@napi-rs/keyring';
type Manifest = { readonly version: string; readonly optional: Readonly<Record<string, unknown>> };
/** Reads the package.json of a package that a package manager installed; undefined if the file does not exist. */
const readManifest = async (files: Host['files'], directory: string): Promise<Manifest | undefined> => {
  const text = await files.read(join(directory, 'package.json')).catch(() => undefined);
  if (text === undefined) return undefined;
  const page = readJsonText(text, () =>
    failure(`${directory}/package.json is damaged`, ['install opsctl again']),
  );
  const { version, optionalDependencies } = isRecord(page) ? page : {};
  return {
    version: typeof version === 'string' ? version : 'unknown',
    optional: isRecord(optionalDependencies) ? optionalDependencies : {},
  };
};
/** Returns the optional package as Node finds it: in the nearest node_modules above the program. */
const findOptional = async (files: Host['files'], from: string): Promise<OptionalPackage | undefined> => {
  const directory = join(from, 'node_modules', KEYCHAIN);
  const manifest = await readManifest(files, directory);
  if (manifest !== undefined) return { name: KEYCHAIN, version: manifest.version, directory };
  const parent = dirname(from);
  return parent === from ? undefined : findOptional(files, parent);
};
const NESTED = 'node_modules';
/** pnpm writes the links of the commands of a package there. The name of a package cannot start with a dot. */
const COMMANDS = '.bin';
/** The entries of a node_modules directory as paths from the package; a scope such as `@name` is a directory of packages. */
const namesIn = async (files: Host['files'], root: string, path: string): Promise<string[]> => {
  const names = await files.list(join(root, path));
  const found = names.map(async (name) => {
    const isScope = name.startsWith('@') && (await files.info(join(root, path, name)))?.kind === 'directory';
    return isScope ? (await files.list(join(root, path, name))).map((one) => `${name}/${one}`) : [name];
  });
  return (await Promise.all(found)).flat();
};
/**
 * The entries of node_modules inside the package that opsctl did not ask for. npm places the optional packages there in
 * a global installation: the ones that package.json lists, and next to them or below them the ones that these list in
 * turn. `listed` has the required version of each package. Node would load a package with any other name or version
 * before the one that was verified.
 */
const unlistedPackages = async (
  files: Host['files'],
  root: string,
  at: string,
  listed: Readonly<Record<string, unknown>>,
): Promise<string[]> => {
  const path = `${at}${NESTED}`;
  const info = await files.info(join(root, path));
  if (info === undefined) return [];
  if (info.kind !== 'directory') return [path];
  const own = await Promise.all(
    Object.keys(listed).map(async (name) => (await readManifest(files, join(root, path, name)))?.optional),
  );
  const known = Object.fromEntries([...own, listed].flatMap((one) => Object.entries(one ?? {})));
  const names = (await namesIn(files, root, path)).filter((name) => name !== COMMANDS);
  const found = names.map(async (name) => {
    const one = `${path}/${name}`;
    const isDirectory = (await files.info(join(root, one)))?.kind === 'directory';
    const isKnown = isDirectory && Object.hasOwn(known, name);
    const manifest = isKnown ? await readManifest(files, join(root, one)) : undefined;
    if (manifest === undefined || manifest.version !== known[name]) return [one];
    return unlistedPackages(files, root, `${one}/`, manifest.optional);
  });
  return (await Promise.all(found)).flat();
};

/** The Scoop manifest of a release writes this wrapper, because Scoop creates no command for a Node script. */
const SCOOP_WRAPPER = '@node "%~dp0bin\\opsctl.js" %*';
/** Files that a package manager writes next to the files of the package. Only the wrapper is a program. */
const isOfManager = async ({ files, platform }: Host, root: string, name: string): Promise<boolean> => {
  if (platform !== 'win32') return false;
  if (name === 'opsctl.cmd') return (await files.read(join(root, name)))?.trimEnd() === SCOOP_WRAPPER;
  return name === 'install.json' || name === 'manifest.json';
};
/**
 * All files and links of the package, whether the list names them or not. `unlistedPackages` covers node_modules, which
 * npm writes.
 */
const entriesOf = async (host: Host, root: string): Promise<Entry[]> => {
  const names = (await host.files.list(root)).filter((name) => name !== NESTED);
  const found = await Promise.all(
    names.map(async (name) =>
      (await isOfManager(host, root, name)) ? [] : entriesAt(host.files, root, name),
    ),
  );
  return found.flat();
};

type Compared = Pick<Files, 'changed' | 'missing' | 'added' | 'linked' | 'files'>;
/** Compares the rows of the list with the entries of the package. */
const compareRows = async (
  files: Host['files'],
  directory: string,
  rows: readonly Row[],
  entries: readonly Entry[],
): Promise<Compared> => {
  const links = new Set(entries.flatMap(({ path, isLink }) => (isLink ? [path] : [])));
  const present = new Set(entries.map(({ path }) => path));
  const omitted = [isPage, isText].filter((is) => ![...present].some(is));
  const expected = rows.filter(({ path }) => !omitted.some((is) => is(path)));
  const [changed, missing]: [string[], string[]] = [[], []];
  for (const { sum, path } of expected) {
    if (links.has(path)) continue;
    const data = present.has(path) ? await files.readBytes(join(directory, path)) : undefined;
    if (data === undefined) missing.push(path);
    else if (hash('sha256', data) !== sum) changed.push(path);
  }
  const listed = new Set([LIST, ...rows.map(({ path }) => path)]);
  const added = [...present].filter((path) => !listed.has(path) && !links.has(path));
  return { files: expected.length, changed, missing, added, linked: [...links].sort() };
};

/** Compares the files of this installation with the checksums that its package contains. */
const verifyFiles = async (host: Host, program: string): Promise<Files> => {
  const { files } = host;
  const directory = await directoryOf(host, program);
  const list = await files.read(join(directory, LIST));
  if (list === undefined)
    throw failure(`cannot verify ${directory}: ${LIST} not found`, [
      'install a package: only `npm pack` and `npm run release` write the checksums',
    ]);
  const rows = readRows(list, directory);
  const compared = await compareRows(files, directory, rows, await entriesOf(host, directory));
  // A package.json that differs from the list is not evidence about the packages.
  const isProven =
    rows.some(({ path }) => path === 'package.json') && !compared.changed.includes('package.json');
  const optional = isProven ? (await readManifest(files, directory))?.optional : undefined;
  const packages = await unlistedPackages(files, directory, '', optional ?? {});
  const own = await findOptional(files, directory);
  return {
    directory,
    ...compared,
    added: [...compared.added, ...packages].sort(),
    sha256: hash('sha256', list),
    not_verified: own === undefined ? [] : [own],
  };
};

/** DER of an Ed25519 public key without its last 32 bytes (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const ED25519 = 'Ed';
/** The signature of the BLAKE2b-512 hash of a file. minisign signs this way since version 0.10. */
const PREHASHED = 'ED';

type PublicKey = { readonly id: Buffer; readonly key: Buffer };
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const bytesOf = (line: string, length: number): Buffer | undefined => {
  const bytes = BASE64.test(line) ? Buffer.from(line, 'base64') : undefined;
  return bytes?.length === length ? bytes : undefined;
};
/** The ID as minisign prints it: the bytes are a number in little-endian order. */
const keyIdText = (id: Buffer): string => Buffer.from(id).reverse().toString('hex').toUpperCase();
const linesOf = (text: string): string[] => text.replaceAll('\r\n', '\n').replace(/\n$/, '').split('\n');

/** Parses a minisign public key: its one line, or the file with a comment before it. */
const parsePublicKey = (text: string): PublicKey | undefined => {
  const lines = linesOf(text.trim());
  const bytes = lines.length <= 2 ? bytesOf(lines.at(-1)?.trim() ?? '', 42) : undefined;
  if (bytes === undefined || bytes.toString('latin1', 0, 2) !== ED25519) return undefined;
  return { id: bytes.subarray(2, 10), key: bytes.subarray(10) };
};

const hasSigned = ({ key }: PublicKey, data: Uint8Array, signature: Uint8Array): boolean =>
  verify(
    null,
    data,
    createPublicKey({ key: Buffer.concat([SPKI, key]), format: 'der', type: 'spki' }),
    signature,
  );

const COMMENT = 'trusted comment: ';
type Signature = {
  readonly algorithm: string;
  readonly id: Buffer;
  readonly own: Buffer;
  readonly whole: Buffer;
};
const parseSignature = (text: string): (Signature & { readonly comment: string }) | undefined => {
  const [untrusted = '', first = '', comment = '', last = '', ...more] = linesOf(text);
  const [bytes, whole] = [bytesOf(first, 74), bytesOf(last, 64)];
  const algorithm = bytes?.toString('latin1', 0, 2) ?? '';
  if (bytes === undefined || whole === undefined || more.length > 0) return undefined;
  if (!untrusted.startsWith('untrusted comment: ') || !comment.startsWith(COMMENT)) return undefined;
  if (algorithm !== ED25519 && algorithm !== PREHASHED) return undefined;
  return {
    algorithm,
    id: bytes.subarray(2, 10),
    own: bytes.subarray(10),
    whole,
    comment: comment.slice(COMMENT.length),
  };
};

/**
 * Verifies a minisign signature and its trusted comment. Returns the problem, or the comment that the owner of the key signed.
 * Pure.
 */
export const verifySignature = (
  data: Uint8Array,
  signatureText: string,
  publicKey: string,
): { readonly problem: string } | { readonly keyId: string; readonly comment: string } => {
  const key = parsePublicKey(publicKey);
  if (key === undefined) return { problem: 'the public key is not a minisign key' };
  const signature = parseSignature(signatureText);
  if (signature === undefined) return { problem: 'the file is not a minisign signature' };
  const keyId = keyIdText(key.id);
  if (!signature.id.equals(key.id))
    return { problem: `the key ${keyIdText(signature.id)} made the signature, not the key ${keyId}` };
  const signed = signature.algorithm === PREHASHED ? createHash('blake2b512').update(data).digest() : data;
  if (!hasSigned(key, signed, signature.own))
    return { problem: `the key ${keyId} did not sign this content` };
  const { comment } = signature;
  if (!hasSigned(key, Buffer.concat([signature.own, Buffer.from(comment)]), signature.whole))
    return { problem: `the key ${keyId} did not sign the trusted comment` };
  return { keyId, comment };
};

export type ReleaseSource = {
  /** Path of SHA256SUMS; the signature has the same name with `.minisig`. */
  readonly checksums: string;
  /** A minisign public key, or the path of its file. Without it, the key that the build contains. */
  readonly publicKey?: string | undefined;
};

/** What is installed: its checksum, and which rows of the release describe it. */
type Installed = { readonly title: string; readonly sha256: string; isRow(path: string): boolean };

const publicKeyOf = async (host: Host, given: string | undefined): Promise<string> => {
  if (given === undefined) {
    if (typeof OPSCTL_RELEASE_KEY !== 'undefined') return OPSCTL_RELEASE_KEY;
    throw failure('cannot verify the signature: this build contains no public key', [
      'opsctl version --verify --checksums SHA256SUMS --public-key KEY (from the maintainers, not from the release)',
    ]);
  }
  if (parsePublicKey(given) !== undefined) return given;
  const text = await host.files.read(resolve(host.cwd, given));
  if (text !== undefined && parsePublicKey(text) !== undefined) return text;
  const why = text === undefined ? 'is neither a minisign key nor a file' : 'contains no minisign key';
  throw new AppError('usage', `invalid --public-key "${given}": ${why}`, {
    code: 'INVALID_PUBLIC_KEY',
    tryThis: ['--public-key with the line that starts with RW, or with the path of minisign.pub'],
  });
};

const mustRead = async (host: Host, path: string): Promise<Uint8Array> => {
  const data = await host.files.readBytes(path);
  if (data !== undefined) return data;
  throw failure(`cannot verify the signature: ${path} not found`, [
    'download SHA256SUMS and SHA256SUMS.minisig of the release into one directory',
  ]);
};

/** The file of a release with the checksums of all installed files: a copy of dist/SHA256SUMS. */
const filesListOf = (version: string): string => `opsctl-${version}.files.sha256`;
const EXECUTABLE = /^opsctl-[a-z0-9]+-[a-z0-9]+(\.exe)?$/;

/**
 * The row of the signed checksums that describes this installation. The list of another version is an error, because an old
 * release is signed as well.
 */
const rowOf = (list: string, version: string, path: string, installed: Installed): Row => {
  const rows = rowsOf(list);
  const isOfVersion = rows.some((row) => row.path === filesListOf(version));
  const own = rows.filter((row) => installed.isRow(row.path));
  const row = own.find(({ sum }) => sum === installed.sha256) ?? own[0];
  if (row !== undefined && isOfVersion) return row;
  const other = rows.map((each) => /^opsctl-(.+)\.files\.sha256$/.exec(each.path)?.[1]).find(Boolean);
  const why =
    other === undefined || other === version
      ? `contains no checksum of ${installed.title}`
      : `belongs to opsctl ${printable(other)}`;
  throw failure(`cannot verify opsctl ${version}: ${path} is signed, but it ${why}`, [
    `download SHA256SUMS and SHA256SUMS.minisig of the release ${version}`,
  ]);
};

const verifyRelease = async (
  host: Host,
  version: string,
  { checksums, publicKey }: ReleaseSource,
  installed: Installed,
): Promise<Signed> => {
  const key = await publicKeyOf(host, publicKey);
  const path = resolve(host.cwd, checksums);
  const data = await mustRead(host, path);
  const signature = Buffer.from(await mustRead(host, `${path}.minisig`)).toString('utf8');
  const verified = verifySignature(data, signature, key);
  if ('problem' in verified)
    throw new AppError('unsafe', `invalid signature of ${path}: ${verified.problem}`, {
      code: 'SIGNATURE_INVALID',
      tryThis: [
        'download both files again; if the error remains, do not install this release, and report it (see SECURITY.md)',
      ],
    });
  const row = rowOf(Buffer.from(data).toString('utf8'), version, path, installed);
  return {
    key_id: verified.keyId,
    trusted_comment: verified.comment,
    release_file: row.path,
    is_of_release: row.sum === installed.sha256,
  };
};

/** Compares this installation with the checksums in its package and, if `release` is given, with the signed checksums. */
export const verifyInstallation = async (
  host: Host,
  version: string,
  release?: ReleaseSource,
): Promise<Verification> => {
  const [executable, program] = host.self;
  if (program !== undefined) {
    const found = await verifyFiles(host, program);
    if (release === undefined) return found;
    const isRow = (path: string): boolean => path === filesListOf(version);
    const installed = { title: 'the installed files', isRow, sha256: found.sha256 };
    return { ...found, signature: await verifyRelease(host, version, release, installed) };
  }
  if (release === undefined)
    throw failure('cannot verify a single executable without the checksums of the release', [
      'opsctl version --verify --checksums SHA256SUMS',
      `sha256sum ${executable}, and compare with SHA256SUMS of the release`,
    ]);
  const digest = hash('sha256', await mustRead(host, executable));
  const isRow = (path: string): boolean => EXECUTABLE.test(path);
  const installed = { title: 'an executable', isRow, sha256: digest };
  return { sha256: digest, signature: await verifyRelease(host, version, release, installed) };
};

/** True if no file differs and the signed checksums, if given, contain this installation. */
export const isIntact = ({
  changed = [],
  missing = [],
  added = [],
  linked = [],
  signature,
}: Verification): boolean =>
  changed.length + missing.length + added.length + linked.length === 0 && signature?.is_of_release !== false;

/** The verification for a terminal: one line, or one line for each file that differs. */
export const verificationText = (version: string, found: Verification): string => {
  const rows = (['changed', 'missing', 'added', 'linked'] as const).flatMap((state) =>
    (found[state] ?? []).map((path) => `${state.padEnd(8)} ${printable(path)}`),
  );
  const { signature, files, not_verified = [] } = found;
  const ofFiles =
    rows.length === 0
      ? `Verified opsctl ${version}: ${files} files match the checksums of the package`
      : `opsctl ${version} in ${found.directory} differs from its package`;
  const ofRelease =
    signature?.is_of_release === false
      ? `This installation is not the release that the key ${signature.key_id} signed: ${signature.release_file} has another checksum`
      : `The key ${signature?.key_id} signed these checksums: ${printable(signature?.trusted_comment ?? '')}`;
  return [
    ...(files === undefined ? [] : [ofFiles, ...rows]),
    ...(signature === undefined ? [] : [ofRelease]),
    ...not_verified.map(
      (one) =>
        `Not verified: ${one.name} ${printable(one.version)} in ${printable(one.directory)}, which npm installed separately (npm audit signatures)`,
    ),
    `SHA-256 of ${files === undefined ? 'the executable' : LIST}: ${found.sha256}`,
  ].join('\n');
};

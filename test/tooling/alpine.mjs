// @ts-check
// Writes an Alpine package (apk-tools 2): two gzip streams in one file, first the metadata and then the files. Debian
// provides no program that writes this format.
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';

const BLOCK = 512;
/** @typedef {Parameters<typeof import('./alpine.mjs').alpineArchive>[0]} Facts */
/** @typedef {Facts['entries'][number]} Entry */
/**
 * @typedef {object} Header
 * @property {string} name
 * @property {number} mode
 * @property {number} size
 * @property {number} mtime
 * @property {string} type
 * @property {string} [target]
 * @param {Buffer} data
 */
const padded = (data) => Buffer.concat([data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]);

/** @param {number} value @param {number} length */
const octal = (value, length) => `${value.toString(8).padStart(length - 1, '0')}\0`;

/**
 * Returns one ustar header. Splits a name of more than 100 bytes at a slash.
 * @param {Header} header
 */
const tarHeader = ({ name, mode, size, mtime, type, target = '' }) => {
  const header = Buffer.alloc(BLOCK);
  let [prefix, rest] = ['', name];
  if (Buffer.byteLength(name) > 100) {
    const at = name.lastIndexOf('/', 154);
    [prefix, rest] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(rest) > 100 || at < 1)
      throw new Error(`the path is too long for a package: ${name}`);
  }
  /** @param {string} text @param {number} offset */
  const put = (text, offset) => header.write(text, offset, 'utf8');
  put(rest, 0);
  put(octal(mode, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(mtime, 12), 136);
  put('        ', 148);
  put(type, 156);
  put(target, 157);
  put('ustar\0', 257);
  put('00', 263);
  put('root', 265);
  put('root', 297);
  put(prefix, 345);
  put(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  );
  return header;
};

/**
 * Returns `<length> key=value\n`, where the length includes itself.
 * @param {string} key @param {string} value
 */
const paxRecord = (key, value) => {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
};

/**
 * apk compares each installed file with this checksum.
 * @param {string | Buffer} content @param {number} mtime
 */
const checksumEntry = (content, mtime) => {
  const sum = createHash('sha1').update(content).digest('hex');
  const data = Buffer.from(paxRecord('APK-TOOLS.checksum.SHA1', sum));
  return [
    tarHeader({ name: 'PaxHeaders/file', mode: 0o644, size: data.length, mtime, type: 'x' }),
    padded(data),
  ];
};

/** @param {Entry} entry @param {number} mtime */
const fileEntry = ({ path, data, mode, target }, mtime) => {
  const name = path.slice(1);
  if (target !== undefined)
    return [
      ...checksumEntry(target, mtime),
      tarHeader({ name, mode: 0o777, size: 0, mtime, type: '2', target }),
    ];
  return [
    ...checksumEntry(data, mtime),
    tarHeader({ name, mode, size: data.length, mtime, type: '0' }),
    padded(data),
  ];
};

/** @param {readonly Entry[]} entries */
const directoriesOf = (entries) => {
  /** @type {Set<string>} */
  const found = new Set();
  for (const { path } of entries) for (let at = dirname(path); at !== '/'; at = dirname(at)) found.add(at);
  return [...found].sort();
};

/** @param {readonly Buffer[]} parts */
const compressed = (parts) => gzipSync(Buffer.concat(parts), { level: 9 });

/** @param {string} one @returns {[string, string]} */
const dependRow = (one) => ['depend', one];
/** @param {Facts} facts @param {number} seconds @param {string} dataHash */
const factsText = (facts, seconds, dataHash) => {
  const [synopsis] = facts.description.split('\n');
  /** @type {(readonly [string, string | number | undefined])[]} */
  const rows = [
    ['pkgname', facts.name],
    ['pkgver', facts.version],
    ['pkgdesc', synopsis],
    ['url', facts.homepage],
    ['builddate', seconds],
    ['packager', facts.maintainer],
    ['size', facts.size],
    ['arch', 'noarch'],
    ['origin', facts.name],
    ['license', facts.license],
    ...facts.depends.map(dependRow),
    ['datahash', dataHash],
  ];
  return rows.map(([key, value]) => (value ? `${key} = ${value}\n` : '')).join('');
};

/**
 * Returns the bytes of the package. The first stream has no end-of-archive marker, because apk reads both streams as one archive.
 * @type {typeof import('./alpine.mjs').alpineArchive}
 */
export const alpineArchive = (facts, seconds) => {
  const data = compressed([
    ...directoriesOf(facts.entries).map((path) =>
      tarHeader({ name: `${path.slice(1)}/`, mode: 0o755, size: 0, mtime: seconds, type: '5' }),
    ),
    ...facts.entries.flatMap((entry) => fileEntry(entry, seconds)),
    Buffer.alloc(2 * BLOCK),
  ]);
  const text = Buffer.from(factsText(facts, seconds, createHash('sha256').update(data).digest('hex')));
  const control = compressed([
    tarHeader({ name: '.PKGINFO', mode: 0o644, size: text.length, mtime: seconds, type: '0' }),
    padded(text),
  ]);
  return Buffer.concat([control, data]);
};

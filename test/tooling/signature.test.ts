/** Signatures and checksums of a release: what the signer writes, what `version --verify` accepts, and which keys the release script refuses. */
import { hash, sign } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { reportCrash } from '../../src/crash.ts';
import type { Host } from '../../src/platform/host.ts';
import {
  isIntact,
  verificationText,
  verifyInstallation,
  verifySignature,
} from '../../src/support/installation.ts';
import { realHost } from '../support/real-host.ts';
import { makeSigningKey } from '../support/signing-key.ts';
import { scoopManifest } from './manifests.mjs';
import { keyIdOf, parseSecretKey, readSigningKey, signatureText, signChecksums } from './signature.mjs';
import { makeDirectory } from '../support/directory.ts';

const work = makeDirectory();

const pair = makeSigningKey();
const key = parseSecretKey(pair.secretText);
const data = Buffer.from(`${'a'.repeat(64)}  opsctl-1.2.3.tgz\n`);
const good = signChecksums(key, data, '1.2.3');
const lines = good.split('\n');
const withLine = (index: number, line: string): string => lines.with(index, line).join('\n');
const flip = (line: string, at: number): string => {
  const bytes = Buffer.from(line, 'base64');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes.toString('base64');
};

describe('verifySignature', () => {
  test('accepts the signature of the release script, with its signed comment', () => {
    const expected = { keyId: keyIdOf(key), comment: 'opsctl 1.2.3 file:SHA256SUMS' };
    expect(verifySignature(data, good, pair.publicText)).toEqual(expected);
    expect(verifySignature(data, good, pair.publicKey)).toEqual(expected);
    expect(
      verifySignature(data, good.replaceAll('\n', '\r\n'), pair.publicText.replaceAll('\n', '\r\n')),
    ).toEqual(expected);
  });

  test('accepts the older form, which signs the content instead of its hash', () => {
    const own = sign(null, data, key.secret);
    const whole = sign(null, Buffer.concat([own, Buffer.from('old')]), key.secret);
    const text = `untrusted comment: x\n${Buffer.concat([Buffer.from('Ed'), key.id, own]).toString('base64')}\ntrusted comment: old\n${whole.toString('base64')}\n`;
    expect(verifySignature(data, text, pair.publicKey)).toMatchObject({ comment: 'old' });
    expect(verifySignature(Buffer.from('b'), text, pair.publicKey)).toHaveProperty('problem');
  });

  const other = makeSigningKey();
  const otherKey = parseSecretKey(other.secretText);
  const sameId = { ...otherKey, id: key.id };
  test.each<[string, Uint8Array, string, string, RegExp]>([
    [
      'a changed file',
      Buffer.concat([data, Buffer.from('x')]),
      good,
      pair.publicKey,
      /did not sign this content/,
    ],
    ['an empty file', Buffer.alloc(0), good, pair.publicKey, /did not sign this content/],
    [
      'a changed comment',
      data,
      withLine(2, 'trusted comment: opsctl 9.9.9'),
      pair.publicKey,
      /the trusted comment/,
    ],
    ['a comment with a space more', data, withLine(2, `${lines[2]} `), pair.publicKey, /the trusted comment/],
    [
      'a changed signature',
      data,
      withLine(1, flip(lines[1] ?? '', 20)),
      pair.publicKey,
      /did not sign this content/,
    ],
    [
      'a changed second signature',
      data,
      withLine(3, flip(lines[3] ?? '', 5)),
      pair.publicKey,
      /the trusted comment/,
    ],
    ['another key ID', data, withLine(1, flip(lines[1] ?? '', 3)), pair.publicKey, /made the signature/],
    ['the hash form as the older form', data, withLine(1, flip(lines[1] ?? '', 1)), pair.publicKey, /./],
    ['another key', data, signChecksums(otherKey, data, '1.2.3'), pair.publicKey, /made the signature/],
    [
      'another key with the same ID',
      data,
      signChecksums(sameId, data, '1.2.3'),
      pair.publicKey,
      /did not sign/,
    ],
    ['a missing line', data, lines.slice(0, 3).join('\n'), pair.publicKey, /not a minisign signature/],
    ['a line more', data, `${good}more\n`, pair.publicKey, /not a minisign signature/],
    ['an empty signature', data, '', pair.publicKey, /not a minisign signature/],
    [
      'a short signature',
      data,
      withLine(1, (lines[1] ?? '').slice(4)),
      pair.publicKey,
      /not a minisign signature/,
    ],
    [
      'an unknown algorithm',
      data,
      withLine(1, `AA${(lines[1] ?? '').slice(2)}`),
      pair.publicKey,
      /not a minisign sig/,
    ],
    ['a secret key as the public key', data, good, pair.secretText, /not a minisign key/],
    ['an empty public key', data, good, '', /not a minisign key/],
  ])('rejects %s', (_, content, signature, publicKey, problem) => {
    expect(verifySignature(content, signature, publicKey)).toEqual({
      problem: expect.stringMatching(problem),
    });
  });
});

test('a key with a password needs the password', () => {
  const locked = makeSigningKey('größe');
  expect(parseSecretKey(locked.secretText, 'größe').publicKey).toBe(locked.publicKey);
  expect(() => parseSecretKey(locked.secretText)).toThrow('RELEASE_SIGNING_PASSWORD');
  expect(() => parseSecretKey(locked.secretText, 'grösse')).toThrow(
    'the password of the signing key is wrong',
  );
});

test('a trusted comment cannot add lines to the signature', () => {
  expect(() => signatureText(key, data, 'a\nb')).toThrow('one line');
});

describe('readSigningKey', () => {
  const root = join(work, 'repository');
  mkdirSync(root);
  writeFileSync(join(root, 'minisign.pub'), pair.publicText);
  const keyFile = (place: string, text = pair.secretText, mode = 0o600): string => {
    const path = join(place, `key-${Math.random()}`);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  test('reads the key from a file or from the environment, and removes it from the environment', () => {
    expect(readSigningKey(root, keyFile(work), {})?.publicKey).toBe(pair.publicKey);
    const env = { RELEASE_SIGNING_KEY: pair.secretText, RELEASE_SIGNING_PASSWORD: 'p', HOME: '/' };
    expect(readSigningKey(root, undefined, env)?.publicKey).toBe(pair.publicKey);
    expect(env).toEqual({ HOME: '/' });
    expect(readSigningKey(root, undefined, {})).toBeUndefined();
  });

  const foreign = makeSigningKey();
  test.each<[string, () => string, RegExp]>([
    ['a key in the repository', () => keyFile(root), /is inside the repository\n {2}try: move it/],
    [
      'a key that others can read',
      () => keyFile(work, pair.secretText, 0o644),
      /mode 644\)\n {2}try: chmod 600/,
    ],
    ['a missing key', () => join(work, 'none'), /does not exist/],
    ['a public key', () => keyFile(work, pair.publicText), /is not a secret key of minisign/],
    ['a damaged key', () => keyFile(work, flip(pair.secretText.split('\n')[1] ?? '', 70)), /is damaged/],
    [
      'a key of others',
      () => keyFile(work, foreign.secretText),
      /minisign\.pub does not belong to the signing key/,
    ],
  ])('refuses %s', (_, make, problem) => {
    expect(() => readSigningKey(root, make(), {})).toThrow(problem);
  });

  test('refuses to sign if the repository does not contain the public key, and prints the line for it', () => {
    const empty = join(work, 'empty');
    mkdirSync(empty);
    expect(() => readSigningKey(empty, keyFile(work), {})).toThrow(`${pair.publicKey}\\n' > minisign.pub`);
  });
});

describe('the checksums in a package', () => {
  const root = join(makeDirectory(), 'package');
  const keyring = '@napi-rs/keyring';
  const contents = {
    'bin/opsctl.js': 'run',
    'dist/main.js': 'main',
    'package.json': JSON.stringify({ optionalDependencies: { [keyring]: '2.1.2' } }),
    'docs/page.md': 'page',
    'docs/other.md': 'other',
    'README.md': 'read',
  };
  const list = Object.entries(contents)
    .map(([path, text]) => `${hash('sha256', text)}  ${path}\n`)
    .join('');
  const put = (path: string, content: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  const verifyWith = async (text: string, change = (): void => undefined, more: Partial<Host> = {}) => {
    rmSync(root, { recursive: true, force: true });
    for (const [path, content] of Object.entries(contents)) put(path, content);
    writeFileSync(join(root, 'dist/SHA256SUMS'), text);
    writeFileSync(join(root, '../outside'), 'outside');
    change();
    const real = await realHost();
    const host: Host = { ...real.host, self: ['node', join(root, 'bin/opsctl.js')], ...more };
    return verifyInstallation(host, '1.2.3').finally(() => real.close());
  };
  const outside = hash('sha256', 'outside');
  test('describe the installed files', async () => {
    expect(isIntact(await verifyWith(list))).toBe(true);
    expect(await verifyWith(list.replace(hash('sha256', 'main'), outside))).toMatchObject({
      changed: ['dist/main.js'],
    });
  });
  test('name the keychain package, which they do not cover', async () => {
    const own = join(root, '../node_modules/@napi-rs/keyring');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'package.json'), '{"version":"2.1.2"}');
    const found = await verifyWith(list);
    expect(found).toMatchObject({ not_verified: [{ version: '2.1.2', directory: own }] });
    expect(verificationText('1.2.3', found)).toContain('@napi-rs/keyring 2.1.2');
    rmSync(join(root, '../node_modules'), { recursive: true });
    expect(await verifyWith(list)).toMatchObject({ not_verified: [] });
  });
  test.each(['README.md', 'docs/page.md', 'package.json', 'dist/main.js'])(
    'find a change of %s',
    async (path) => {
      const found = await verifyWith(list, () => put(path, 'other'));
      expect([isIntact(found), found.changed]).toEqual([false, [path]]);
    },
  );
  test.each([
    ['without the texts at the top', ['README.md'], 5],
    ['without the pages', ['docs'], 4],
    ['without both', ['docs', 'README.md'], 3],
  ])('accept a package %s', async (_, paths, files) => {
    const found = await verifyWith(list, () => {
      for (const path of paths) rmSync(join(root, path), { recursive: true });
    });
    expect([isIntact(found), found.files]).toEqual([true, files]);
  });
  test('reject a package with a part of the pages', async () => {
    const found = await verifyWith(list, () => rmSync(join(root, 'docs/page.md')));
    expect([isIntact(found), found.missing]).toEqual([false, ['docs/page.md']]);
  });
  test.each(['dist/main.js', 'dist/SHA256SUMS', 'package.json', 'dist', 'docs', 'README.md'])(
    'reject a link in place of %s, although its target has the same content',
    async (path) => {
      const kept = join(root, '../kept');
      rmSync(kept, { recursive: true, force: true });
      const found = await verifyWith(list, () => {
        renameSync(join(root, path), kept);
        symlinkSync(kept, join(root, path));
      });
      expect([isIntact(found), found.linked]).toEqual([false, [path]]);
      expect(verificationText('1.2.3', found)).toContain(path);
    },
  );
  test.each(Object.keys(contents))('reject a list without the line of %s', async (path) => {
    const found = await verifyWith(list.replace(new RegExp(`^.* {2}${path}\\n`, 'm'), ''));
    expect([isIntact(found), found.added]).toEqual([false, [path]]);
  });
  test.each([
    'CHANGELOG.md',
    'LICENSE',
    '.npmrc',
    'index.js',
    'src/main.ts',
    'docs/more.md',
    'dist/chunks/x.js',
  ])('reject the additional file %s', async (path) => {
    const found = await verifyWith(list, () => put(path, 'more'));
    expect([isIntact(found), found.added]).toEqual([false, [path]]);
  });
  test('accept the files of Scoop on Windows, and reject another wrapper', async () => {
    const { version, pre_install: script } = JSON.parse(
      scoopManifest(
        { version: '1.2.3', license: 'MIT', homepage: 'x' },
        { summary: 'x', file: 'x', url: 'x', sum: 'x' },
      ),
    );
    const wrapper = /'(.+)'/.exec(script)?.[1];
    const found = (text: string, platform: Host['platform']) =>
      verifyWith(
        list,
        () => {
          for (const name of ['install.json', 'manifest.json']) put(name, version);
          put('opsctl.cmd', text);
        },
        { platform },
      );
    expect((await found(`${wrapper}\r\n`, 'win32')).added).toEqual([]);
    expect((await found(`@evil\r\n${wrapper}\r\n`, 'win32')).added).toEqual(['opsctl.cmd']);
    expect((await found(`${wrapper}\r\n`, 'linux')).added).toHaveLength(3);
  });
  const manifest = (version: string, optional = {}): string =>
    JSON.stringify({ version, optionalDependencies: optional });
  const native = `${keyring}-linux-x64-gnu`;
  const own = () => put(`node_modules/${keyring}/package.json`, manifest('2.1.2', { [native]: '2.1.2' }));
  test.each([
    ['next to the optional package', `node_modules/${native}`],
    ['below the optional package', `node_modules/${keyring}/node_modules/${native}`],
  ])('accept the listed packages %s', async (_, place) => {
    const found = await verifyWith(list, () => {
      own();
      put(`${place}/package.json`, manifest('2.1.2'));
      put('node_modules/.bin/opsctl', '');
    });
    expect([found.added, found.not_verified?.[0]?.name]).toEqual([[], keyring]);
  });
  test.each([
    ['another package', () => put('node_modules/evil/index.js', ''), 'evil'],
    ['another package of the scope', () => put('node_modules/@napi-rs/evil/index.js', ''), '@napi-rs/evil'],
    ['a file', () => put('node_modules/evil.js', ''), 'evil.js'],
    ['another version', () => put(`node_modules/${native}/package.json`, manifest('2.1.1')), native],
    ['no package.json', () => put(`node_modules/${native}/index.js`, ''), native],
    [
      'a package that the nested one does not list',
      () => put(`node_modules/${keyring}/node_modules/evil/package.json`, manifest('1.0.0')),
      `${keyring}/node_modules/evil`,
    ],
    [
      'a link',
      () => {
        mkdirSync(join(root, '../far'), { recursive: true });
        symlinkSync(join(root, '../far'), join(root, 'node_modules', native));
      },
      native,
    ],
  ])('reject a node_modules directory with %s', async (_, change, name) => {
    const found = await verifyWith(list, () => {
      own();
      change();
    });
    expect([isIntact(found), found.added]).toEqual([false, [`node_modules/${name}`]]);
  });
  test('reject the packages that a changed package.json lists', async () => {
    const found = await verifyWith(list, () => {
      put('package.json', JSON.stringify({ optionalDependencies: { evil: '1.0.0' } }));
      put('node_modules/evil/package.json', manifest('1.0.0'));
    });
    expect(found).toMatchObject({ changed: ['package.json'], added: ['node_modules/evil'] });
  });
  test.each([
    ['a path above the package', `${outside}  ../outside`],
    ['a path that leads above the package', `${outside}  dist/../../outside`],
    ['an absolute path', `${outside}  ${join(root, '../outside')}`],
    ['a path outside of the package parts', `${outside}  src/main.ts`],
    ['a short checksum', `${outside.slice(1)}  dist/main.js`],
    ['a checksum in capital letters', `${outside.toUpperCase()}  dist/main.js`],
    ['no path', `${outside}  `],
    ['an escaped path', `\\${outside}  dist/a\\nb`],
    ['an empty line', ''],
    ['another text', 'x'.repeat(100_000)],
    ['the list itself', `${outside}  dist/SHA256SUMS`],
    ['a second row after a carriage return', `${outside}  dist/x.js\r${outside}  dist/y.js`],
    ['a row after other text', `x\r${outside}  dist/x.js`],
  ])('with %s are invalid, and the error names the line', async (_, line) => {
    for (const [text, number] of [
      [`${list}${line}\n`, Object.keys(contents).length + 1],
      [`${line}\n${list}`, 1],
    ] as const)
      await expect(verifyWith(text)).rejects.toThrow(`line ${number} of dist/SHA256SUMS is invalid`);
  });
  test.each([
    ['with the same checksum', hash('sha256', 'main'), 'dist/main.js'],
    ['with another checksum', outside, 'dist/main.js'],
  ])('with a repeated line %s are invalid', async (_, sum, path) => {
    const text = `${list}${sum}  ${path}\n`;
    const number = Object.keys(contents).length + 1;
    await expect(verifyWith(text)).rejects.toThrow(`line ${number} of dist/SHA256SUMS repeats a path`);
  });
});

test('a missing file of the program is not an internal error', () => {
  const lines: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  const error = (message: string, more: object): Error => Object.assign(new Error(message), more);
  const missing = [
    error("Cannot find module './load.js'\nRequire stack: x", { code: 'MODULE_NOT_FOUND' }),
    error('ENOENT', { code: 'ENOENT', path: join(import.meta.dirname, '../../dist/chunks/gone.js') }),
  ];
  expect(missing.map(reportCrash)).toEqual([3, 3]);
  write.mockRestore();
  expect(lines.join('')).toMatch(
    /damaged: \/\S+bin\/load\.js not found\n {2}try: install opsctl again\n[\s\S]*gone\.js/,
  );
});

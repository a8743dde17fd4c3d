/** Third-party commands: `opsctl-NAME` on PATH. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf, naming } from '../support/facts.ts';

let home = '';
let env: Record<string, string>;
const put = (name: string, text: string): void => {
  writeFileSync(join(home, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(home, name), 0o755);
};
beforeAll(() => {
  home = makeDirectory();
  env = { PATH: `${home}:${process.env['PATH']}` };
  put('opsctl-hello', 'printf "%s|" "$@" > "$OPSCTL_HOME/seen"; exit 7');
  put('opsctl-tracker', 'touch "$OPSCTL_HOME/replaced"');
  put('opsctl-help', 'touch "$OPSCTL_HOME/replaced"');
});

test('a program opsctl-NAME on PATH is a command: its words, its exit code', async () => {
  const { code, stdout, stderr } = await opsctl(['hello', 'two words', '--flag'], { home, env });
  expect([code, stdout, stderr]).toEqual([7, '', '']);
  expect(readFileSync(join(home, 'seen'), 'utf8')).toBe('two words|--flag|');
});

test('a command of this program is never replaced, and what is nowhere is unknown', async () => {
  expect((await opsctl(['tracker', 'nosuch'], { home, env })).code).toBe(2);
  expect((await opsctl(['help', 'nosuch'], { home, env })).code).toBe(2);
  expect(existsSync(join(home, 'replaced'))).toBe(false);
  const { code, stderr } = await opsctl(['helo'], { home, env: { PATH: home } });
  expect(code).toBe(2);
  expect(stderr).toContain('unknown command "helo"');
  expect((await opsctl(['../hello'], { home, env })).code).toBe(2);
});

const installed = (): string => join(home, 'config', 'extensions', 'opsctl-report');
test('an installed extension runs, also without PATH, and its checksum is checked before each run', async () => {
  put('opsctl-report', 'printf "%s|" "$@"; exit 3');
  const sha256 = createHash('sha256')
    .update(readFileSync(join(home, 'opsctl-report')))
    .digest('hex');
  const wrong = await opsctl(
    ['extension', 'install', join(home, 'opsctl-report'), '--sha256', '0'.repeat(64)],
    { home },
  );
  expect([wrong.code, existsSync(installed())]).toEqual([2, false]);
  expect(wrong.stderr).toContain(sha256);
  const install = await opsctl(['extension', 'install', join(home, 'opsctl-report'), '--sha256', sha256], {
    home,
  });
  expect(install.json()).toMatchObject({ name: 'report', sha256, file: installed() });
  expect((await opsctl(['report', 'a', '--b'], { home })).code).toBe(3);
  writeFileSync(installed(), '#!/bin/sh\ntouch "$OPSCTL_HOME/replaced"\n');
  const changed = await opsctl(['report', '-o', 'json'], { home });
  expect([changed.code, errorOf(changed).code]).toEqual([10, 'EXTENSION_CHANGED']);
  expect((await opsctl(['extension', 'list'], { home, env: { PATH: '' } })).json()).toEqual([
    { name: 'report', state: 'changed', path: installed(), reason: expect.any(String) },
  ]);
  expect((await opsctl(['extension', 'install', join(home, 'opsctl-report')], { home })).code).toBe(0);
  expect((await opsctl(['report'], { home })).code).toBe(3);
  expect((await opsctl(['extension', 'remove', 'report'], { home })).code).toBe(0);
  expect((await opsctl(['extension', 'remove', 'report'], { home })).code).toBe(6);
  expect((await opsctl(['report'], { home, env: { PATH: '' } })).code).toBe(2);
  expect(existsSync(join(home, 'replaced'))).toBe(false);
});

test('the list names every program on PATH, and why one does not run', async () => {
  const later = join(home, 'later');
  mkdirSync(later);
  writeFileSync(join(later, 'opsctl-hello'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(home, 'opsctl-data'), 'not a program', { mode: 0o644 });
  writeFileSync(join(home, 'opsctl-open'), '#!/bin/sh\ntouch "$OPSCTL_HOME/replaced"\n');
  chmodSync(join(home, 'opsctl-open'), 0o777);
  const rows = (
    await opsctl(['extension', 'list'], { home, env: { PATH: `${home}:${later}:relative` } })
  ).json() as { name: string; state: string; path: string }[];
  expect(rows.map(({ name, state, path }) => [name, state, path.slice(home.length)])).toEqual([
    ['hello', 'ready', '/opsctl-hello'],
    ['help', 'hidden', '/opsctl-help'],
    ['open', 'not trusted', '/opsctl-open'],
    ['report', 'ready', '/opsctl-report'],
    ['tracker', 'hidden', '/opsctl-tracker'],
    ['hello', 'hidden', '/later/opsctl-hello'],
  ]);
  expect((await opsctl(['open'], { home, env: { PATH: home } })).code).toBe(10);
  expect(existsSync(join(home, 'replaced'))).toBe(false);
});

test('a name of a command, another name, and a missing file are refused', async () => {
  for (const [file, code] of [
    ['opsctl-tracker', 2],
    ['opsctl-help', 2],
    ['opsctl-Report', 2],
    ['report', 2],
    ['opsctl-missing', 6],
  ] as const)
    expect((await opsctl(['extension', 'install', join(home, file)], { home })).code).toBe(code);
});

const script = (directory: string, name: string, text: string): string => {
  const path = join(directory, `opsctl-${name}`);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
};
const listOf = (own: string): string => join(own, 'config', 'extensions', 'extensions.json');
const namesIn = (own: string): string[] =>
  JSON.parse(readFileSync(listOf(own), 'utf8')).extensions.map(({ name }: { name: string }) => name);

test('parallel installations and aliases are all kept', async () => {
  const own = makeDirectory();
  const names = Array.from({ length: 8 }, (_, i) => `x${i}`);
  const codes = await Promise.all(
    names.flatMap((name) => [
      opsctl(['extension', 'install', script(own, name, 'exit 0')], { home: own }).then(({ code }) => code),
      opsctl(['alias', 'set', `a${name}`, 'config path'], { home: own }).then(({ code }) => code),
    ]),
  );
  expect(new Set(codes)).toEqual(new Set([0]));
  expect(namesIn(own)).toEqual(names);
  const aliases = JSON.parse(readFileSync(join(own, 'config', 'aliases.json'), 'utf8')).aliases;
  expect(aliases.map(({ name }: { name: string }) => name)).toEqual(names.map((name) => `a${name}`));
  await Promise.all(names.slice(1).map((name) => opsctl(['extension', 'remove', name], { home: own })));
  expect(namesIn(own)).toEqual(['x0']);
});

test('the list names no program before it is stored, and remove deletes a program without an entry', async () => {
  const own = makeDirectory();
  const file = script(own, 'part', 'exit 5');
  const program = join(own, 'config', 'extensions', 'opsctl-part');
  const failed = await opsctl(['extension', 'install', file], {
    home: own,
    host: (host) => ({
      ...host,
      files: {
        ...host.files,
        replace: async (path, data, mode) => {
          if (path === listOf(own)) throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });
          await host.files.replace(path, data, mode);
        },
      },
    }),
  });
  expect(failed.code).not.toBe(0);
  expect([existsSync(program), existsSync(listOf(own))]).toEqual([true, false]);
  expect((await opsctl(['part'], { home: own })).code).toBe(2);
  expect((await opsctl(['extension', 'remove', 'part'], { home: own })).code).toBe(0);
  expect(existsSync(program)).toBe(false);
  expect((await opsctl(['extension', 'remove', 'part'], { home: own })).code).toBe(6);
});

test('the list gives the reason of an installed extension that does not run', async () => {
  const own = makeDirectory();
  const onPath = { PATH: own };
  await opsctl(['alias', 'set', 'al', 'config path'], { home: own });
  script(own, 'al', 'exit 9');
  const install = (name: string) =>
    opsctl(['extension', 'install', script(own, name, 'exit 9')], { home: own });
  expect((await install('al')).stderr).toContain('alias');
  expect((await install('lost')).stderr).not.toContain('alias');
  await install('tracking');
  // A later version of opsctl may have a command of this name.
  const renamed = readFileSync(listOf(own), 'utf8').replace('"tracking"', '"tracker"');
  writeFileSync(listOf(own), renamed);
  rmSync(join(own, 'config', 'extensions', 'opsctl-lost'));
  rmSync(join(own, 'opsctl-lost'));
  rmSync(join(own, 'opsctl-tracking'));
  const rows = (await opsctl(['extension', 'list'], { home: own, env: onPath })).json();
  expect(rows).toEqual([
    expect.objectContaining({ name: 'al', state: 'hidden', reason: naming('alias al') }),
    expect.objectContaining({ name: 'lost', state: 'changed', reason: naming('missing') }),
    expect.objectContaining({ name: 'tracker', state: 'hidden', reason: naming('command of opsctl') }),
    expect.objectContaining({ name: 'al', state: 'hidden', reason: naming('alias al') }),
  ]);
  expect((await opsctl(['al'], { home: own, env: onPath })).code).toBe(0);
  const lost = await opsctl(['lost'], { home: own });
  expect([lost.code, lost.stderr]).toEqual([10, naming('missing', 'extension install')]);
});

test('a damaged list of extensions does not replace the suggestion for a mistyped command', async () => {
  const own = makeDirectory();
  await opsctl(['extension', 'install', script(own, 'real', 'exit 9')], { home: own });
  writeFileSync(listOf(own), '{bad');
  const mistyped = await opsctl(['trakcer'], { home: own });
  expect([mistyped.code, mistyped.stderr]).toEqual([2, naming('tracker')]);
  expect(mistyped.stderr).not.toContain('extensions.json');
  // The program may be an installed one, whose checksum is in the list.
  expect((await opsctl(['real'], { home: own })).code).toBe(3);
  script(own, 'path', 'exit 9');
  expect((await opsctl(['path'], { home: own, env: { PATH: own } })).code).toBe(3);
});

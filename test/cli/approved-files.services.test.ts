/** An approved run uses the files that its dry run read, even if the files change after the dry run. */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home: string;
beforeEach(() => {
  home = makeDirectory();
});

const at = (name: string): string => join(home, name);
/** Runs the dry run, changes the files, and then runs the command. */
const approved = async (words: readonly string[], swap: () => void): Promise<string> => {
  mkdirSync(at('copies'), { mode: 0o700 });
  const flags = [`--approved-files=${at('copies')}`, '-o', 'json'];
  const shown = await opsctl([...words, '--dry-run', ...flags], { home });
  expect([words, shown.code, shown.code === 0 ? '' : shown.stderr]).toEqual([
    words,
    expect.toBeOneOf([0, 20]),
    '',
  ]);
  swap();
  const ran = await opsctl([...words, '--yes', ...flags], { home });
  expect([words, ran.code, ran.code === 0 ? '' : ran.stderr + ran.stdout]).toEqual([words, 0, '']);
  return ran.stdout;
};
const labels = async (service: string): Promise<string> =>
  (await opsctl([service, 'labels', 'list', '-o', 'json'].slice(service === 'labels' ? 1 : 0), { home }))
    .stdout;

it.each<[string, string, string, (file: string) => readonly string[]]>([
  [
    'text',
    'approved-1',
    'replaced-1',
    (file) => ['tracker', 'labels', 'create', '--name', 'a', '--description-file', file],
  ],
  [
    'body',
    '{"name":"approved-1"}',
    '{"name":"replaced-1"}',
    (file) => ['tracker', 'labels', 'create', '--body', `@${file}`],
  ],
  [
    'workspace.yaml',
    'labels:\n  - name: approved-1\n',
    'labels:\n  - name: replaced-1\n',
    (file) => ['tracker', 'apply', '-f', file],
  ],
  [
    'rows.csv',
    'op,resource,name\ncreate,labels,approved-1\n',
    'op,resource,name\ncreate,labels,replaced-1\n',
    (file) => ['tracker', 'bulk', '-f', file],
  ],
])('%s: the run reads what the dry run read', async (name, before, after, words) => {
  writeFileSync(at(name), before);
  await approved(words(at(name)), () => writeFileSync(at(name), after));
  const list = await labels('tracker');
  expect(list).toContain('approved-1');
  expect(list).not.toContain('replaced-1');
});

it('an upload sends what the dry run found, although only the run reads it', async () => {
  writeFileSync(at('f.txt'), 'approved content');
  const [file] = JSON.parse(
    await approved(['tracker', 'files', 'upload', at('f.txt')], () => writeFileSync(at('f.txt'), 'other')),
  );
  await opsctl(['tracker', 'files', 'download', String(file.id), '--to', at('back')], { home });
  expect(readFileSync(at('back'), 'utf8')).toBe('approved content');
});

it('a directory has the files that the dry run found', async () => {
  mkdirSync(at('defs'));
  const label = (title: string) => `key: ${title}\ntitle: ${title}\n`;
  writeFileSync(at('defs/a.yaml'), label('approved-1'));
  await approved(['labels', 'apply', '-f', at('defs')], () => {
    writeFileSync(at('defs/a.yaml'), label('replaced-1'));
    writeFileSync(at('defs/b.yaml'), label('added-1'));
  });
  const list = await labels('labels');
  expect(list).toContain('approved-1');
  expect(list).not.toMatch(/replaced-1|added-1/);
});

it('a removed file is still there for the run', async () => {
  writeFileSync(at('text'), 'approved-1');
  const words = ['tracker', 'labels', 'create', '--name', 'a', '--description-file', at('text')];
  expect(await approved(words, () => rmSync(at('text')))).toContain('approved-1');
});

it('copies are private, and a run without a dry run is refused', async () => {
  writeFileSync(at('text'), 'approved-1');
  const words = ['tracker', 'labels', 'create', '--name', 'a', '--description-file', at('text')];
  mkdirSync(at('copies'));
  const ran = await opsctl([...words, `--approved-files=${at('copies')}`], { home });
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--approved-files')]);
  expect(readdirSync(at('copies'))).toEqual([]);
});

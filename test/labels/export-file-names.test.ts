/** The service supplies the names of exported files: no name leads out of the directory or replaces another file. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { safeFileName } from '../../src/core/file-name.ts';
import { containedPath } from '../../src/platform/trust.ts';
import { nodeFiles as files } from '../../src/platform/node/files.ts';
import { labelsInMemory } from '../support/in-memory.ts';
import { makeDirectory } from '../support/directory.ts';

/** Runs an export from a service that returns these labels. */
const exportOf = async (at: ReturnType<typeof labelsInMemory>, labels: readonly object[]) => {
  at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'Own' } });
  return at.run(['export', '--all', '-f', 'defs', '-o', 'json'], {
    meanwhile: ({ path }) => (path.startsWith('/labels?') ? { status: 200, json: { labels } } : undefined),
  });
};
const label = (id: string, title: string) => ({
  ...{ name: `labels/${id}@1`, id, revisionId: '1', revisionCreateTime: '2026-01-01T00:00:00Z' },
  ...{ labelType: 'SHARED', lifecycle: { state: 'PUBLISHED' }, properties: { title }, fields: [] },
});

describe('export into a directory', () => {
  test.each([
    '../.github/workflows/ci',
    '../../../x',
    '/etc/x',
    '..',
    'a\\b',
    '-rf',
    '.x',
    'a\nb',
    'con',
    'x'.repeat(300),
  ])('refuses a label with the id %j and writes no file', async (id) => {
    const at = labelsInMemory();
    await at.write('.github/workflows/ci.yaml', 'keep');
    const ran = await exportOf(at, [label(id, '🙂')]);
    expect([ran.code, ran.error().code, ran.written]).toEqual([11, 'BAD_LABEL_ID', []]);
    expect(at.read('.github/workflows/ci.yaml')).toBe('keep');
  });

  test('an export never replaces an unrelated file', async () => {
    const at = labelsInMemory();
    const others = { 'ci.yaml': 'on: push\n---\njobs: {}\n', 'labels.lint.yaml': 'rules: {}\n' };
    for (const [name, text] of Object.entries(others)) await at.write(`defs/${name}`, text);
    const ran = await exportOf(at, [
      label('abc', 'CI'),
      label('labels.lint', '🙂'),
      label('labels.lock', '🙂'),
    ]);
    expect(ran.json().map(({ file }: { file: string }) => file)).toEqual([
      'defs/ci-abc.yaml',
      'defs/labels.lint-labels.lint.yaml',
      'defs/labels.lock-labels.lock.yaml',
    ]);
    for (const [name, text] of Object.entries(others)) expect(at.read(`defs/${name}`)).toBe(text);
  });

  test('gives different files to ids that differ only in case', async () => {
    const at = labelsInMemory();
    const ran = await exportOf(at, [label('Abc', '🙂'), label('aBC', '🙃')]);
    const names: string[] = ran.json().map(({ file }: { file: string }) => file.toLowerCase());
    expect(new Set(names).size).toBe(2);
  });
});

describe('containedPath', () => {
  let root = '';
  beforeEach(async () => {
    root = makeDirectory();
    await mkdir(join(root, 'defs'));
    await writeFile(join(root, 'outside.yaml'), 'keep');
    await writeFile(join(root, 'defs', 'inside.yaml'), '');
  });

  test.each(['../outside.yaml', '../missing.yaml', '/etc/hostname'])(
    'refuses a name that is a link to %s',
    async (target) => {
      await symlink(target, join(root, 'defs', 'bug.yaml'));
      const path = containedPath(files, join(root, 'defs'), safeFileName('bug.yaml', 'x'));
      await expect(path).rejects.toMatchObject({ category: 'unsafe', detail: { code: 'LINK_OUTSIDE' } });
      expect(await readFile(join(root, 'outside.yaml'), 'utf8')).toBe('keep');
    },
  );

  test('allows a link to a file of the directory, also through a link to the directory', async () => {
    await symlink('inside.yaml', join(root, 'defs', 'bug.yaml'));
    await symlink('defs', join(root, 'link'));
    const name = safeFileName('bug.yaml', 'x');
    expect(await containedPath(files, join(root, 'link'), name)).toBe(join(root, 'link', 'bug.yaml'));
  });
});

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writeDocs } from '../../src/docs.ts';
import { joinPages, splitPages } from '../tooling/derived-pages.mjs';

const root = new URL('../../', import.meta.url).pathname;
const pkg = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

test('committed completions and reference pages match the tables (npm run docs writes them)', async () => {
  const { committed } = await writeDocs(pkg.version, { readme: joinPages(root) });
  const { 'README.md': pages = '', ...completions } = committed;
  for (const [name, text] of Object.entries({ ...completions, ...splitPages(pages) }))
    expect(readFileSync(`${root}${name}`, 'utf8'), name).toBe(text);
});

// @ts-check
// Updates the parts of the pages that `npm run docs` generates. `writeDocs` replaces the parts between the markers of
// one text, so this script joins the pages for the call and splits them afterwards.
import { readFileSync } from 'node:fs';

/** @type {typeof import('./derived-pages.mjs').derivedPages} */
export const derivedPages = [
  'README.md',
  'docs/reference/commands.md',
  'docs/reference/exit-codes.md',
  'docs/reference/output-formats.md',
  'docs/reference/settings.md',
];
const SEPARATOR = '\n<!-- next page -->\n';

/** @type {typeof import('./derived-pages.mjs').joinPages} */
export const joinPages = (root) =>
  derivedPages.map((page) => readFileSync(`${root}${page}`, 'utf8')).join(SEPARATOR);

/** @type {typeof import('./derived-pages.mjs').splitPages} */
export const splitPages = (text) => {
  const texts = text.split(SEPARATOR);
  return Object.fromEntries(derivedPages.map((page, at) => [page, texts[at] ?? '']));
};

/**
 * The documentation site. `npm run docs:site` builds it to .cache/docs-site, with full-text search. The build
 * fails on a dead link. The sidebar is the list of pages in docs/README.md.
 */
import { readFileSync } from 'node:fs';

const home = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** Returns the groups of the sidebar: one for each heading of the start page with links. */
export const sidebarOf = (page) =>
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.slice(0, section.indexOf('\n')).trim(),
      collapsed: false,
      items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)#:]+\.md)\)/gm)].map(([, text, path]) => ({
        text,
        link: path.startsWith('../') ? undefined : `/${path.replace(/(?:README)?\.md$/, '')}`,
      })).filter(({ link }) => link !== undefined),
    }))
    .filter(({ items }) => items.length > 0);

export default {
  title: 'opsctl',
  description: 'Sign-in, tracker, labels and etcd upgrades from the command line',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  // Links from a page to a file of the repository have no page on the site. An address on localhost is an example.
  ignoreDeadLinks: [/^https?:\/\/localhost\b/, /^(?:\.\/)?(?:\.\.\/)+(?:src|test|CHANGELOG|CONTRIBUTING|SECURITY|README|package|action|completions)\b/],
  outDir: '../.cache/docs-site',
  cacheDir: '../.cache/vitepress',
  themeConfig: {
    sidebar: sidebarOf(home),
    search: { provider: 'local' },
    outline: [2, 3],
  },
};

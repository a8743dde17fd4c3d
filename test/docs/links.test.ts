import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { pages, proseOf, root, textOf } from './pages.ts';

/** Returns the anchors that a page defines: headings in the form of GitHub, and explicit anchors. */
const anchorsOf = (page: string): Set<string> =>
  new Set([
    ...[...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .replace(/<[^>]*>/g, '')
        .trim()
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
    ...[...textOf(page).matchAll(/<a id="([\w-]+)">/g)].map(([, id = '']) => id),
  ]);

const isExternal = (target: string): boolean => /^[a-z]+:/.test(target);

/** Returns the broken links of a page. */
const deadLinks = (page: string): string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (isExternal(target)) return [];
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(`${root}${file}`)) return [`${page}: ${target}: file not found`];
    if (anchor === undefined || !file.endsWith('.md')) return [];
    return anchorsOf(file).has(anchor) ? [] : [`${page}: ${target}: heading not found`];
  });

test('every link of the documentation leads to a file and a heading', () => {
  expect(pages.length).toBeGreaterThan(40);
  expect(pages.flatMap(deadLinks)).toEqual([]);
});

test('the index of the documentation lists every page', () => {
  const index = textOf('docs/README.md');
  const missing = pages
    .filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
    .filter((page) => !/^docs\/(spec|decisions)\//.test(page))
    .filter((page) => !index.includes(`](${page.replace('docs/', '')})`));
  expect(missing, 'add a link to docs/README.md').toEqual([]);
});

test('the sidebar of the site has every page of the index, in its order', async () => {
  const { sidebarOf, default: site } = (await import(`${root}docs/.vitepress/config.mjs`)) as {
    sidebarOf: (
      page: string,
    ) => readonly { readonly text: string; readonly items: readonly { link: string }[] }[];
    default: { readonly themeConfig: { readonly sidebar: unknown; readonly search: unknown } };
  };
  const index = textOf('docs/README.md');
  const links = sidebarOf(index).flatMap(({ items }) => items.map(({ link }) => link));
  const listed = [...index.matchAll(/^- \[[^\]]+\]\(([\w./-]+)\.md\)/gm)].map(([, path = '']) => path);
  expect(links).toEqual(
    listed.filter((path) => !path.startsWith('../')).map((path) => `/${path.replace(/README$/, '')}`),
  );
  expect(links.length).toBeGreaterThan(40);
  expect(site.themeConfig).toMatchObject({ sidebar: sidebarOf(index), search: { provider: 'local' } });
});

test('the workflow for GitHub Pages runs a script of package.json and uploads the directory of the site', async () => {
  const workflow = textOf('docs/ci/github-pages.yml');
  const { default: site } = (await import(`${root}docs/.vitepress/config.mjs`)) as {
    default: { readonly outDir: string };
  };
  const { jobs } = parse(workflow) as {
    jobs: { build: { steps: { run?: string; with?: { path?: string } }[] }; deploy: { needs: string } };
  };
  const [, script = ''] =
    /^npm run (\S+) -- --base /.exec(jobs.build.steps.find(({ run }) => run)?.run ?? '') ?? [];
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  expect(scripts[script]).toContain('vitepress');
  expect(join('docs', site.outDir)).toBe(jobs.build.steps.find((step) => step.with?.path)?.with?.path);
  expect(jobs.deploy.needs).toBe('build');
});

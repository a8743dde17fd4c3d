/** Help fits the terminal: every page, at every width. */
import { expect, test } from 'vitest';
import { versionRows } from '../../src/api-specs/etcd/versions.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { bare } from '../../src/core/field.ts';
import { commandPage, groupPage, helpPage, rootPage, topics } from '../../src/cli/help.ts';
import { groups } from '../../src/commands/program.ts';
import type { Page } from '../../src/core/result.ts';
import { pageText } from '../../src/output/page-text.ts';
import { readDocs, readMarkdown } from '../../src/cli/topics/texts.ts';
import { partlyMade } from '../support/context.ts';
import { fakeHost } from '../support/fake-host.ts';

const pages = async (): Promise<Page[]> => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const own = await Promise.all(topics.map((topic) => topic.load()));
  const named = groups.map(({ name }) =>
    groupPage(
      groups,
      [name],
      commands.filter(({ path }) => path[0] === name),
    ),
  );
  return [rootPage(groups, '1.2.3'), ...own, ...named, ...commands.map(commandPage)];
};

test.each([40, 60, 80, 100, 140])(
  'no line of any page is longer than %i columns, unless one word is',
  async (width) => {
    const limit = Math.min(120, width);
    const long: string[] = [];
    for (const page of await pages()) {
      for (const line of pageText(page, limit).split('\n')) {
        // A line break inside a quoted argument of an example would change the argument.
        const hasLongWord = (line.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).some(
          (word) => word.length > limit - 10,
        );
        if (line.length > limit && !hasLongWord) long.push(`${page.title}: ${line}`);
      }
    }
    expect(long).toEqual([]);
  },
);

test('the usage of a command and its examples are on the first screen of 80 x 24', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  for (const command of commands) {
    const first = pageText(commandPage(command), 80).split('\n').slice(0, 24).join('\n');
    expect(first).toContain(`opsctl ${command.path.join(' ')}`);
  }
});

test('global flags take one paragraph, and `help flags` explains each', async () => {
  const topic = await topics.find(({ name }) => name === 'flags')?.load();
  expect(topic && pageText(topic, 80)).toContain('-o, --output <word>');
  const [command] = (await groups.find(({ name }) => name === 'commands')?.load()) ?? [];
  expect(command && pageText(commandPage(command), 80)).toMatch(
    /Global flags\n {2}--output, [\s\S]*opsctl help flags\)\n$/,
  );
});

test('a group that is a topic as well shows its commands, and its own groups are not hidden by the topic', async () => {
  const host = fakeHost();
  const text = async (...words: string[]) => {
    const shown = await helpPage(groups, words, host);
    let text = '';
    if (shown.kind === 'raw') for await (const chunk of shown.chunks) text += chunk;
    return text;
  };
  expect(await text('mock')).toMatch(/Commands\n[\s\S]* {2}serve [\s\S]*In tests/);
  expect(await text('mock', 'webhooks')).toMatch(/Commands\n {2}deliveries /);
});

test.each([
  ['bulk', 'tracker bulk'],
  ['csv', 'tracker sync'],
  ['import', 'tracker sync'],
  ['jira', 'tracker sync'],
  ['rollback', 'kv rollback'],
])('help for the word %s names the command %s', async (word, command) => {
  await expect(helpPage(groups, [word], fakeHost())).rejects.toMatchObject({
    detail: { tryThis: expect.arrayContaining([`opsctl help ${command}`]) },
  });
});

const installed = {
  self: ['node', '/opt/opsctl/bin/opsctl.js'] as const,
  files: {
    '/opt/opsctl/docs/README.md':
      '# opsctl\n\n## How-to guides\n\n- [Restore keys](how-to/restore-keys.md): compare and restore.\n- [Use a fleet](how-to/fleet.md)\n',
    '/opt/opsctl/docs/how-to/restore-keys.md':
      '# Restore keys\n\nThis guide restores keys from a snapshot.\n',
    '/opt/opsctl/docs/how-to/fleet.md': '# Use a fleet\n\nA fleet upgrades many clusters.\n',
  },
};
const docsHost = () => {
  const host = fakeHost();
  const files = { read: async (path: string) => installed.files[path as keyof typeof installed.files] };
  return partlyMade<typeof host>({ self: [...installed.self], files: partlyMade<typeof host.files>(files) });
};

test('help docs lists the pages of the installation below their headings', async () => {
  const page = await readDocs([], docsHost());
  expect(page.blocks.slice(-2)).toEqual([
    { kind: 'heading', text: 'How-to guides' },
    {
      kind: 'terms',
      rows: [
        ['restore-keys', 'Restore keys'],
        ['fleet', 'Use a fleet'],
      ],
    },
  ]);
});

test.each([[['fleet']], [['how-to/fleet']], [['how-to/fleet.md']]])(
  'help docs %j shows the page of that name',
  async (words) => {
    expect(await readDocs(words, docsHost())).toMatchObject({
      summary: 'Use a fleet',
      blocks: [{ kind: 'text', text: 'A fleet upgrades many clusters.' }],
    });
  },
);

test('help docs lists only pages that contain every word', async () => {
  const [list] = (await readDocs(['snapshot', 'KEYS'], docsHost())).blocks;
  expect(list).toEqual({
    kind: 'terms',
    rows: [['restore-keys', 'Restore keys. This guide restores keys from a snapshot.']],
  });
  await expect(readDocs(['snapshot', 'fleet'], docsHost())).rejects.toMatchObject({
    category: 'usage',
    detail: { tryThis: ['opsctl help docs', 'opsctl help'] },
  });
});

test('help docs shows the sentence with a word, without anchors and without the rest of a long line', async () => {
  const { self, files } = docsHost();
  const page = `# Restore keys\n\n<a id="a-1"></a>First ${'x '.repeat(99)}. It keeps each snapshot. Last one.\n`;
  const read = async (path: string) => (path.endsWith('restore-keys.md') ? page : files.read(path));
  const [list] = (await readDocs(['snapshot'], { self, files: { ...files, read } })).blocks;
  expect(list).toMatchObject({ rows: [['restore-keys', 'Restore keys. It keeps each snapshot.']] });
  const [first] = (await readDocs(['first'], { self, files: { ...files, read } })).blocks;
  const [[, shown = ''] = []] = first?.kind === 'terms' ? first.rows : [];
  expect(shown).toMatch(/^Restore keys\. First /);
  expect(shown.length).toBeLessThan(160);
});

test('help docs without pages on the machine is an error of the installation', async () => {
  const host = { ...docsHost(), self: ['/usr/bin/opsctl'] as [string] };
  await expect(readDocs([], host)).rejects.toMatchObject({
    category: 'config',
    detail: { code: 'NO_DOCUMENTATION' },
  });
});

test('a page keeps the lines of a file, and a table becomes terms', () => {
  const text =
    '# T\n\n1. Write:\n\n   ```yaml\n   a:\n     - b\n   ```\n\n| word | use | not |\n|---|---|---|\n| key | [data](x.md) | member |\n';
  expect(readMarkdown('t', text).blocks).toEqual([
    { kind: 'text', text: '1. Write:' },
    { kind: 'shell', lines: ['a:', '  - b'], isVerbatim: true },
    { kind: 'terms', rows: [['key', 'use: data; not: member']] },
  ]);
});

/** `For a maintenance window.`, but not `With --at: restore only the keys`, whose statement follows the mark. */
const FRAGMENT = /^(?:After|At|Before|By|During|For|From|If|In|On|To|When|With|Without)\b[^,:;]*$/;
const sentences = (text: string): string[] => text.split(/(?<=\.)\s+(?=[A-Z`])/);

test('no sentence and no summary of the help is a phrase without a statement', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const found = commands.flatMap(({ path, summary, about = '', flags = {} }) =>
    [summary, ...sentences(about), ...Object.values(flags).map((flag) => flag.summary)]
      .filter((text) => FRAGMENT.test(text.replace(/\.$/, '')))
      .map((text) => `${path.join(' ')}: ${text}`),
  );
  expect(found).toEqual([]);
});

const flagsOfVersions = async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  return commands.flatMap((command) =>
    Object.entries(command.flags ?? {})
      .filter(([, { value }]) => value === 'minor')
      .map(([name, flag]) => ({ command, name, flag })),
  );
};

test('every flag for a minor version lists the versions that opsctl knows', async () => {
  const flags = await flagsOfVersions();
  expect(flags.length).toBeGreaterThan(4);
  for (const { command, name, flag } of flags)
    expect(bare(flag.field), `${command.path.join(' ')} --${name}`).toMatchObject({
      enum: versionRows.map(({ minor }) => minor),
    });
});

test.each(['3.9', '3.1', '4.0', '3', ''])('no flag for a minor version accepts %j', async (value) => {
  for (const { command, name } of await flagsOfVersions())
    await expect(parseCommand(command, [`--${name}=${value}`])).rejects.toMatchObject({
      category: 'usage',
      detail: { problems: expect.arrayContaining([expect.objectContaining({ path: `--${name}` })]) },
    });
});

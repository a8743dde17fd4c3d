import { nearest } from '../core/nearest.ts';
import type { Page } from '../core/page.ts';
import { AppError } from '../core/problem.ts';
import { type Result, rawResult } from '../core/result.ts';
import { helpWidth, pageText } from '../output/page-text.ts';
import type { Host } from '../platform/host.ts';
import type { Command } from './command.ts';
import { findCommand, findGroup } from './find.ts';
import { commandPage, groupPage, rootPage } from './help.ts';
import { groups } from './manifest.ts';
import { topics } from './topics.ts';

/** A page as wide as the terminal that it is read on; `paged` lets a pager show what is longer than a screen. */
export const pageResult = (page: Page, { terminal }: Host): Result => ({
  ...rawResult(pageText(page, helpWidth(terminal.stdout.columns))),
  paged: true,
});

export const commandHelp = (command: Command, host: Host): Result => pageResult(commandPage(command), host);

const nothingOfThatName = (word: string): AppError => {
  const close = nearest(word, [...topics.map(({ name }) => name), ...groups.map(({ name }) => name)]);
  return new AppError(
    'usage',
    `opsctl help: there is no command and no topic ${JSON.stringify(word)}${close === undefined ? '' : `; did you mean ${close}?`}`,
    {
      code: 'UNKNOWN_COMMAND',
      tryThis: [`opsctl help ${close ?? ''}`.trim(), `topics: ${topics.map(({ name }) => name).join(', ')}`],
    },
  );
};

/** A group that is a topic as well, as `mock`: its commands first, then the text. Pure. */
const withTopic = (page: Page, topic: Page): Page => ({
  ...page,
  summary: topic.summary,
  blocks: [...page.blocks, ...topic.blocks],
});

/** The page that `opsctl help <words>` shows: the root, a topic, a group or a command. */
export const helpPage = async (words: readonly string[], host: Host): Promise<Result> => {
  const [first] = words;
  if (first === undefined) return pageResult(rootPage(OPSCTL_VERSION), host);
  const topic = topics.find(({ name }) => name === first);
  if (!groups.some(({ name }) => name === first)) {
    if (topic === undefined) throw nothingOfThatName(first);
    return pageResult(await topic.load(), host);
  }
  const found = findCommand(await findGroup(first).load(words), words);
  if (found.kind === 'command') return commandHelp(found.command, host);
  const page = groupPage(found.words, found.commands);
  return pageResult(
    topic === undefined || words.length > 1 ? page : withTopic(page, await topic.load()),
    host,
  );
};

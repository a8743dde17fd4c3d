import { type Result, rawResult } from '../core/result.ts';
import { findCommand, findGroup } from './find.ts';
import { commandHelp, groupHelp, rootHelp } from './help.ts';

/** The page that `opsctl help <words>` shows: the root, a topic, a group or a command. */
export const helpPage = async (words: readonly string[]): Promise<Result> => {
  if (words.length === 0) return rawResult(rootHelp(OPSCTL_VERSION));
  if (words[0] === 'exit-codes') return rawResult((await import('./help-topics.ts')).exitCodesText());
  if (words[0] === 'environment')
    return rawResult((await import('../config/environment-text.ts')).environmentText());
  const found = findCommand(await findGroup(words[0] ?? '').load(words), words);
  return rawResult(
    found.kind === 'command' ? commandHelp(found.command) : groupHelp(found.words, found.commands),
  );
};

import { join } from 'node:path';
import { messageOf } from '../core/problem.ts';
import type { Context } from '../api/context.ts';
import type { LabelJson } from './api-types.ts';

/** The name under which shell completion finds titles of labels; `label` is used for the tracker's labels. */
export const TITLES = 'label-title';

/**
 * Keeps the titles of all labels for completion, which never uses the network. An unwritable list is not a
 * failure.
 */
export const rememberTitles = async (context: Context, labels: readonly LabelJson[]): Promise<void> => {
  const { files } = context.host;
  const directory = join(context.settings.directories.cache, 'names');
  const titles = labels.flatMap(({ properties }) =>
    properties?.title === undefined || /[\r\n]/.test(properties.title) ? [] : [properties.title],
  );
  const text = `${[...new Set(titles)].join('\n')}\n`;
  try {
    if ((await files.read(join(directory, TITLES))) === text) return;
    await files.makeDirectory(directory, 0o700);
    await files.replace(join(directory, TITLES), text, 0o600);
  } catch (error) {
    context.log.debug(`the titles for TAB were not written: ${messageOf(error)}`);
  }
};

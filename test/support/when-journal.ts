import { readFileSync } from 'node:fs';
import type { AppendFile, Host } from '../../src/platform/host.ts';

/** A machine that performs one action once: when a journal line that matches the expression has been synced to disk. */
export const whenJournal =
  (fits: RegExp, act: (journal: string) => void) =>
  (host: Host): Host => {
    let isDone = false;
    return {
      ...host,
      files: {
        ...host.files,
        append: (path, mode): AppendFile => {
          const file = host.files.append(path, mode);
          return {
            ...file,
            sync: () => {
              file.sync();
              if (isDone || !fits.test(readFileSync(path, 'utf8'))) return;
              isDone = true;
              act(path);
            },
          };
        },
      },
    };
  };

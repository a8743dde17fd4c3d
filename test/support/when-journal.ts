import { readFileSync } from 'node:fs';
import type { AppendFile, Host } from '../../src/platform/host.ts';

/** A machine on which something happens once: in the moment in which a line of the journal, that this fits, is on the disk. */
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

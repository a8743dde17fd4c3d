import { childPath, pathPart } from '../../../core/file-name.ts';
import { join } from 'node:path';
import type { Host } from '../../../platform/host.ts';
import { clusterDirectory } from '../../engine/journal.ts';

/** The run's directory of the copy is kept with the real cluster's runs; everything else of the copy goes. */
export const keepReport = async (
  host: Host,
  state: string,
  cluster: string,
  directory: string,
  run: string,
): Promise<string> => {
  const kept = childPath(join(clusterDirectory(state, cluster), 'rehearsals'), pathPart(run));
  const find = async (at: string): Promise<string | undefined> => {
    for (const name of await host.files.list(at)) {
      const path = childPath(at, pathPart(name));
      if (name === 'report.json') return at;
      const inside = (await host.files.info(path))?.kind === 'directory' ? await find(path) : undefined;
      if (inside !== undefined) return inside;
    }
    return undefined;
  };
  const from = await find(join(directory, 'home'));
  if (from === undefined) return kept;
  await host.files.makeDirectory(kept, 0o700);
  for (const name of ['report.json', 'report.md', 'report.html', 'events.ndjson'])
    await host.files.copy(childPath(from, pathPart(name)), childPath(kept, pathPart(name)));
  return kept;
};

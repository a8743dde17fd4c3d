import { AppError } from '../../core/problem.ts';
import type { Driver } from '../upgrade/supervisors/driver.ts';

const impossible = async (): Promise<never> => {
  throw new AppError('config', 'without a cluster file nothing is known of the processes of the members', {
    code: 'NO_DRIVER',
    tryThis: ['--cluster FILE', 'opsctl kv init writes a cluster file'],
  });
};

/** Where only endpoints are known: nothing is seen on the members' hosts, and nothing can be done there. */
export const noDriver: Driver = {
  kind: 'local',
  facts: async () => ({}),
  process: async () => ({ state: 'unknown', reason: 'only its endpoint is known' }),
  stop: impossible,
  kill: impossible,
  stage: impossible,
  activate: impossible,
  discard: impossible,
  start: impossible,
  copyData: impossible,
  readFile: impossible,
  writeFile: impossible,
  logTail: async () => [],
  describe: () => [],
};

import { AppError } from '../core/problem.ts';

/** What is kept for the mock server cannot be what it kept: `why` names the file at `path`. */
export const stateDamaged = (path: string, why: string, otherwise: readonly string[] = []): AppError =>
  new AppError('config', `the state of the mock server is damaged: ${why}`, {
    code: 'MOCK_STATE_DAMAGED',
    tryThis: [
      `restore ${path} from a copy`,
      ...otherwise,
      'opsctl mock reset --discard (starts over with the demo data)',
      'opsctl mock serve --ephemeral (keeps nothing)',
    ],
  });

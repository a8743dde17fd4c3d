import { bool } from '../core/field.ts';
import { AppError, usageError } from '../core/problem.ts';
import { rawResult } from '../core/result.ts';
import { knownKey } from '../config/edit.ts';
import { defineCommand } from '../cli/command.ts';
import { keyArgument } from './key-argument.ts';

export const get = defineCommand({
  path: ['config', 'get'],
  summary: 'The value of one setting',
  args: [keyArgument],
  flags: { reveal: { effects: ['sends'], field: bool(), summary: 'Print a secret, too' } },
  examples: [{ line: 'opsctl config get tracker.url', says: 'One value, ready for a script' }],
  async run({ settings }, values) {
    const key = knownKey(values.key);
    const setting = settings.get(key.key);
    if (setting === undefined) {
      throw new AppError('not-found', `${key.key} is not set`, {
        code: 'NOT_SET',
        tryThis: [`opsctl config set ${key.key} ${key.secret ? '--stdin' : '…'}`],
      });
    }
    if (key.secret && !values.reveal)
      throw usageError(
        `${key.key} is a secret; it is printed only with --reveal`,
        [],
        [`opsctl config get ${key.key} --reveal`],
      );
    return rawResult(`${setting.value}\n`);
  },
});

import { expect, test } from 'vitest';
import { installScript } from '../../src/commands/integrations.ts';
import { fakeHost } from '../support/fake-host.ts';
import { naming } from '../support/facts.ts';

test.each(['bash', 'zsh', 'fish', 'powershell'] as const)(
  'completion install %s ignores directories of the environment that are relative',
  async (shell) => {
    const names = ['XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'BASH_COMPLETION_USER_DIR'];
    const env = (value: string) => Object.fromEntries(names.map((name) => [name, value]));
    const pathWith = async (value: string): Promise<string> =>
      (await installScript(fakeHost({ env: { HOME: '/home/ann', ...env(value) } }), shell)).path;
    expect(await pathWith('here')).toBe(await pathWith(''));
    expect(await pathWith('here')).toMatch(/^\/home\/ann\//);
    expect(await pathWith('/data')).toMatch(/^\/data\//);
  },
);

test.each([
  [undefined, naming('$SHELL')],
  ['', naming('$SHELL')],
  ['/bin/tcsh', naming('$SHELL', '/bin/tcsh')],
])('completion install names the shells that it knows if SHELL is %j', async (SHELL, why) => {
  const host = fakeHost({ env: { HOME: '/home/ann', SHELL } });
  await expect(installScript(host, undefined)).rejects.toMatchObject({
    message: why,
    detail: {
      tryThis: ['bash', 'zsh', 'fish', 'powershell'].map((shell) => `opsctl completion install ${shell}`),
    },
  });
});

import { expect, test } from 'vitest';
import {
  browserChoice,
  type EnvironmentSignals,
  forwardLine,
  hints,
  runsBrowserOutside,
  environmentFrom,
} from '../../../src/auth/methods/browser-environment.ts';

const at = (env: Record<string, string>, more: Partial<EnvironmentSignals> = {}) =>
  environmentFrom({
    env,
    platform: 'linux',
    kernel: '6.1.0',
    hasDockerFile: false,
    cgroup: '0::/user.slice',
    ...more,
  });
const desk = at({ DISPLAY: ':0' });

test.each([
  ['SSH_CONNECTION', at({ SSH_CONNECTION: '1.2.3.4 5 10.0.0.9 22' }).isSsh],
  ['SSH_TTY', at({ SSH_TTY: '/dev/pts/0' }).isSsh],
  ['WSL_DISTRO_NAME', at({ WSL_DISTRO_NAME: 'Debian' }).isWsl],
  ['the kernel of WSL', at({}, { kernel: '5.15.0-microsoft-standard-WSL2' }).isWsl],
  ['/.dockerenv', at({}, { hasDockerFile: true }).isContainer],
  ['a cgroup', at({}, { cgroup: '0::/kubepods/burstable' }).isContainer],
  ['REMOTE_CONTAINERS', at({ REMOTE_CONTAINERS: 'true' }).isContainer],
])('%s is recognized', (_, seen) => {
  expect(seen).toBe(true);
});

test.each([
  ['CODESPACES', { CODESPACES: 'true' }, { isCodespace: true }],
  ['Gitpod', { GITPOD_WORKSPACE_ID: 'x' }, { isCodespace: true }],
  ['a dev container', { REMOTE_CONTAINERS: 'true' }, { isEditorRemote: true, isContainer: true }],
  [
    'VS Code Remote',
    { BROWSER: '/home/a/.vscode-server/bin/1/bin/helpers/browser.sh' },
    { isEditorRemote: true },
  ],
  ['VS Code Remote without BROWSER', { VSCODE_IPC_HOOK_CLI: '/run/x.sock' }, { isEditorRemote: true }],
] as [string, Record<string, string>, object][])('%s: the browser is on another machine', (_, env, seen) => {
  expect(at(env)).toMatchObject(seen);
  expect(runsBrowserOutside(at(env))).toBe(true);
  expect(hints(at(env), 4711, 'box').join()).toContain('paste');
});
test('a desktop has its browser here', () => {
  expect(runsBrowserOutside(desk)).toBe(false);
});

test('a plain desktop matches no remote case', () => {
  expect(desk).toMatchObject({ isSsh: false, isWsl: false, isContainer: false, hasDisplay: true });
});

test('the ssh line can be copied unchanged', () => {
  const ssh = at({ SSH_CONNECTION: '1.2.3.4 5 10.0.0.9 22', USER: 'ada' });
  expect(forwardLine(4711, ssh, 'box')).toBe('ssh -N -L 4711:127.0.0.1:4711 ada@10.0.0.9');
  expect(forwardLine(4711, at({ SSH_TTY: 'x' }), 'box')).toBe('ssh -N -L 4711:127.0.0.1:4711 box');
  expect(forwardLine(1, at({ SSH_CONNECTION: '::1 5 fe80::1 22' }), 'box')).toBe(
    'ssh -N -L 1:127.0.0.1:1 fe80::1',
  );
  expect(hints(ssh, 4711, 'box').join()).toContain('ssh -N -L 4711');
  expect(hints(desk, 1, 'box')).toEqual([]);
  // A published port never reaches a listener on the loopback of the container.
  const inside = hints(at({}, { hasDockerFile: true }), 4711, 'box').join();
  expect(inside).toContain('paste');
  expect(inside).not.toContain('docker run -p');
});

test.each([
  ['a terminal and a display', desk, {}, true, true],
  ['no terminal', desk, {}, false, false],
  ['no terminal but --browser', desk, { browser: true }, false, true],
  ['--no-browser', desk, { noBrowser: true }, true, false],
  ['an SSH session', at({ SSH_TTY: 'x', DISPLAY: ':10' }), {}, true, false],
  ['no display', at({}), {}, true, false],
  ['BROWSER=none', at({ DISPLAY: ':0', BROWSER: 'none' }), {}, true, false],
  ['BROWSER=none but --browser', at({ DISPLAY: ':0', BROWSER: 'none' }), { browser: true }, true, true],
  ['WSL without a display', at({ WSL_DISTRO_NAME: 'x' }), {}, true, true],
  ['another platform', at({}, { platform: 'darwin' }), {}, true, true],
])('%s', (_, place, asked, hasTerminal, open) => {
  expect(browserChoice(place, asked, hasTerminal).open).toBe(open);
});

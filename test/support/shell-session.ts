/** A real interactive shell on a dedicated terminal. Tests send keys and read the screen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeCache } from './code-cache.ts';
import { hangMs } from './hang.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
/** A prompt that does not occur in the output of any command. The setup types it in two parts, so its echo is not the prompt. */
const PROMPT = 'ready%%';

export type ShellName = 'bash' | 'zsh' | 'fish';
const shells: Readonly<Record<ShellName, { readonly command: string; readonly setup: string }>> = {
  bash: {
    command: 'bash --norc --noprofile -i',
    setup: `PS1='rea''dy%%'; source ${root}completions/opsctl.bash`,
  },
  zsh: {
    command: 'zsh -f -i',
    setup: `autoload -U compinit; compinit -u -D; source ${root}completions/_opsctl; unsetopt ZLE_RPROMPT_INDENT; PS1='rea''dy%%%%'`,
  },
  fish: {
    command: 'fish --no-config -i',
    setup: `source ${root}completions/opsctl.fish; function fish_prompt; printf 'rea''dy%%%%'; end`,
  },
};
export const hasShell = (shell: ShellName): boolean =>
  ['/usr/bin', '/bin', '/usr/local/bin', '/opt/homebrew/bin'].some((directory) =>
    existsSync(join(directory, shell)),
  );

// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor is no text
const CONTROL = /\u001b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\u0007]*\u0007|[()][A-Z0-9]|[=>])|[\u0007\u0000]/g;
export const visible = (screen: string): string => screen.replace(CONTROL, '').replaceAll('\r', '');

export type ShellSession = {
  /** Types keys, waits until the resulting screen shows `text`, and returns that screen. */
  type(keys: string, text: string | RegExp): Promise<string>;
  /** Returns everything that the terminal has shown since its start. */
  read(): string;
  close(): Promise<void>;
};

/** `opsctl` is the built program. The shell finds it on PATH, as for a user. */
export const shellSession = async (
  shell: ShellName,
  { home, cwd, env = {} }: { home: string; cwd: string; env?: Record<string, string> },
): Promise<ShellSession> => {
  const bin = join(home, 'bin');
  mkdirSync(bin, { recursive: true });
  // Sessions share a home. A program that is starting cannot be written, so the file is replaced as a whole.
  const fresh = join(bin, `.opsctl-${process.pid}`);
  writeFileSync(fresh, `#!/bin/sh\nexec ${process.execPath} ${BIN} "$@"\n`);
  chmodSync(fresh, 0o755);
  renameSync(fresh, join(bin, 'opsctl'));
  const { command, setup } = shells[shell];
  const child: ChildProcess = spawn('script', ['-qec', `stty cols 120 rows 40; ${command}`, '/dev/null'], {
    cwd,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      OPSCTL_HOME: home,
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      HISTFILE: '/dev/null',
      ...codeCache,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  let [screen, isClosed] = ['', false];
  child.once('close', () => {
    isClosed = true;
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  // All waits of a session share the time of its test.
  const end = Date.now() + hangMs;
  const shown = async (from: number, text: string | RegExp): Promise<string> => {
    for (;;) {
      const seen = visible(screen.slice(from));
      if (typeof text === 'string' ? seen.includes(text) : text.test(seen)) return seen;
      if (isClosed || Date.now() > end)
        throw new Error(`${shell} never showed ${text}: ${JSON.stringify(seen)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const type: ShellSession['type'] = async (keys, text) => {
    const from = screen.length;
    child.stdin?.write(keys);
    return shown(from, text);
  };
  await shown(0, /[$%#>] ?$/m);
  await type(`${setup}\r`, new RegExp(`${PROMPT}$`));
  return {
    type,
    read: () => visible(screen),
    close: async () => {
      const ended = new Promise((resolve) => child.once('close', resolve));
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
        await ended;
      } catch {
        // The process has already exited.
      }
    },
  };
};

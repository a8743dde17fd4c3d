import type { Host } from '../../platform/host.ts';

/** The environment of this process with respect to browsers. */
export type BrowserEnvironment = {
  readonly isSsh: boolean;
  readonly isWsl: boolean;
  readonly isContainer: boolean;
  /** GitHub Codespaces, Gitpod and the like: an editor in a browser, with the machine in a data center. */
  readonly isCodespace: boolean;
  /** An editor on another computer opens the addresses of this one and forwards its ports (VS Code Remote, dev containers). */
  readonly isEditorRemote: boolean;
  readonly hasDisplay: boolean;
  /** `BROWSER=none`. */
  readonly isBrowserOff: boolean;
  readonly user: string | undefined;
  /** The command in BROWSER. */
  readonly command: string | undefined;
  /** `client port server port` of SSH_CONNECTION: the address this machine was reached at. */
  readonly sshServer: string | undefined;
};

export type EnvironmentSignals = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  readonly kernel: string | undefined;
  readonly hasDockerFile: boolean;
  readonly cgroup: string | undefined;
};

const isSet = (value: string | undefined): value is string => value !== undefined && value !== '';

export const environmentFrom = ({
  env,
  platform,
  kernel,
  hasDockerFile,
  cgroup,
}: EnvironmentSignals): BrowserEnvironment => ({
  isSsh: isSet(env.SSH_CONNECTION) || isSet(env.SSH_TTY) || isSet(env.SSH_CLIENT),
  isWsl: isSet(env.WSL_DISTRO_NAME) || isSet(env.WSL_INTEROP) || /microsoft/i.test(kernel ?? ''),
  isContainer:
    hasDockerFile ||
    isSet(env.container) ||
    isSet(env.KUBERNETES_SERVICE_HOST) ||
    isSet(env.REMOTE_CONTAINERS) ||
    /docker|kubepods|containerd|podman/.test(cgroup ?? ''),
  isCodespace:
    env.CODESPACES === 'true' ||
    isSet(env.GITPOD_WORKSPACE_ID) ||
    isSet(env.CLOUD_SHELL) ||
    isSet(env.C9_PID),
  isEditorRemote:
    isSet(env.REMOTE_CONTAINERS) ||
    isSet(env.VSCODE_IPC_HOOK_CLI) ||
    /\.(?:vscode|cursor|windsurf|code)-(?:server|remote)|\/helpers\/browser\.sh$/.test(env.BROWSER ?? ''),
  hasDisplay: platform !== 'linux' || isSet(env.DISPLAY) || isSet(env.WAYLAND_DISPLAY) || isSet(env.BROWSER),
  isBrowserOff: env.BROWSER === 'none',
  user: env.USER ?? env.LOGNAME,
  command: isSet(env.BROWSER) ? env.BROWSER : undefined,
  sshServer: env.SSH_CONNECTION?.split(' ')[2],
});

export const browserEnvironment = async (host: Host): Promise<BrowserEnvironment> => {
  const quiet = (path: string) => host.files.read(path).catch(() => undefined);
  const linux = host.platform === 'linux';
  return environmentFrom({
    env: host.env,
    platform: host.platform,
    kernel: linux ? await quiet('/proc/sys/kernel/osrelease') : undefined,
    hasDockerFile: linux && (await host.files.info('/.dockerenv').catch(() => undefined)) !== undefined,
    cgroup: linux ? await quiet('/proc/1/cgroup') : undefined,
  });
};

/** The line to type on the computer that has the browser. */
export const forwardLine = (port: number, at: BrowserEnvironment, hostname: string): string => {
  const server = at.sshServer ?? hostname;
  // OpenSSH accepts an IPv6 address without brackets. Brackets would be part of the name.
  return `ssh -N -L ${port}:127.0.0.1:${port} ${at.user === undefined ? '' : `${at.user}@`}${server}`;
};

/** The browser that can be opened from here is a program of another system, which may not reach a listener of this one. */
export const runsBrowserOutside = (at: BrowserEnvironment): boolean =>
  at.isSsh || at.isWsl || at.isContainer || at.isCodespace || at.isEditorRemote;
/** What to do when the browser is not here, or cannot reach the listener. */
export const hints = (at: BrowserEnvironment, port: number, hostname: string): string[] => {
  const lines: string[] = [];
  if (at.isSsh)
    lines.push(
      `This is an SSH session. On the computer with the browser run: ${forwardLine(port, at, hostname)}`,
    );
  if (at.isWsl)
    lines.push(
      'This is WSL. If the browser of Windows shows "cannot connect" after the sign-in, copy its address and paste it here.',
    );
  if (at.isContainer && !at.isSsh)
    lines.push(
      'This is a container: a browser outside the container cannot reach this listener, unless an editor forwards the port or the container uses --network host. Otherwise paste the address that the browser goes to.',
    );
  else if (at.isCodespace || at.isEditorRemote)
    lines.push(
      `This is a remote environment: the editor may forward port ${port}. Otherwise paste the address that the browser goes to.`,
    );
  return lines;
};

export type BrowserChoice = { readonly open: boolean; readonly why: string };

/** Never a browser without a terminal unless asked: scheduled jobs must not open tabs. */
export const browserChoice = (
  at: BrowserEnvironment,
  asked: { readonly browser?: boolean; readonly noBrowser?: boolean },
  hasTerminal: boolean,
): BrowserChoice => {
  if (asked.noBrowser === true) return { open: false, why: '--no-browser' };
  if (asked.browser === true) return { open: true, why: '--browser' };
  if (at.isBrowserOff) return { open: false, why: 'BROWSER=none' };
  if (!hasTerminal) return { open: false, why: 'there is no terminal' };
  if (at.isSsh) return { open: false, why: 'this is an SSH session' };
  if (!at.hasDisplay && !at.isWsl) return { open: false, why: 'there is no display' };
  return { open: true, why: 'a terminal and a display' };
};

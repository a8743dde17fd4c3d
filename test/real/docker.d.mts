export const realDocker: () => { directories: string[] } | { missing: string };
export const realPodman: () =>
  | { program: string; conmon: string; runc: string; libraries: string }
  | { missing: string };

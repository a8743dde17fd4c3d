export const realSshd: () =>
  | { readonly sshd: string; readonly libraries?: string }
  | { readonly missing: string };

export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

const scripts: Readonly<Record<Shell, () => Promise<string>>> = {
  bash: async () => (await import('../../reference/completion/bash.ts')).bashScript(),
  zsh: async () => (await import('../../reference/completion/zsh.ts')).zshScript(),
  fish: async () => (await import('../../reference/completion/fish.ts')).fishScript(),
  powershell: async () => (await import('../../reference/completion/powershell.ts')).powershellScript(),
};

export const scriptOf = (shell: Shell): Promise<string> => scripts[shell]();

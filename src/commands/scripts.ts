export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

const scripts: Readonly<Record<Shell, () => Promise<string>>> = {
  bash: async () => (await import('../reference/completion.ts')).bashScript(),
  zsh: async () => (await import('../reference/zsh.ts')).zshScript(),
  fish: async () => (await import('../reference/fish.ts')).fishScript(),
  powershell: async () => (await import('../reference/powershell.ts')).powershellScript(),
};

export const scriptOf = (shell: Shell): Promise<string> => scripts[shell]();

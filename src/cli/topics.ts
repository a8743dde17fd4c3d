import type { Page } from '../core/page.ts';

/** A help page that belongs to no single command. Its text is loaded on demand. */
export type Topic = {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Page>;
};

export const topics: readonly Topic[] = [
  {
    name: 'flags',
    summary: 'Flags that every command takes',
    load: async () => (await import('./topics/texts.ts')).flagsPage,
  },
  {
    name: 'output',
    summary: 'Output formats, columns and filters',
    load: async () => (await import('./topics/texts.ts')).page,
  },
  {
    name: 'configuration',
    summary: 'Settings, profiles, files and their precedence',
    load: async () => (await import('./topics/texts.ts')).configurationPage,
  },
  {
    name: 'environment',
    summary: 'Environment variables',
    load: async () => (await import('../config/load.ts')).page(),
  },
  {
    name: 'exit-codes',
    summary: 'Exit codes and the recommended action',
    load: async () => (await import('./topics/texts.ts')).exitCodesPage,
  },
  {
    name: 'ci',
    summary: 'Use opsctl in CI pipelines',
    load: async () => (await import('./topics/texts.ts')).ciPage,
  },
  {
    name: 'mock',
    summary: 'The embedded mock services',
    load: async () => (await import('./topics/texts.ts')).mockPage,
  },
  {
    name: 'upgrade',
    summary: 'Runbook of a cluster upgrade',
    load: async () => (await import('./topics/texts.ts')).upgradePage,
  },
  {
    name: 'security',
    summary: 'Storage and redaction of secrets',
    load: async () => (await import('./topics/texts.ts')).securityPage,
  },
];

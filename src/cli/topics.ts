import type { Page } from '../core/page.ts';

/** A page of help that belongs to no single command. Its text is loaded when it is asked for. */
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
    summary: 'Formats, columns and filters; what goes to stdout',
    load: async () => (await import('./topics/texts.ts')).page,
  },
  {
    name: 'configuration',
    summary: 'Settings, profiles and files; what beats what',
    load: async () => (await import('./topics/texts.ts')).configurationPage,
  },
  {
    name: 'environment',
    summary: 'Environment variables',
    load: async () => (await import('../config/load.ts')).page(),
  },
  {
    name: 'exit-codes',
    summary: 'Exit codes, and what to do about each',
    load: async () => (await import('./topics/texts.ts')).exitCodesPage,
  },
  {
    name: 'ci',
    summary: 'Pipelines: exit codes and snippets',
    load: async () => (await import('./topics/texts.ts')).ciPage,
  },
  {
    name: 'mock',
    summary: 'The embedded services and how to test against them',
    load: async () => (await import('./topics/texts.ts')).mockPage,
  },
  {
    name: 'upgrade',
    summary: 'Runbook of a cluster upgrade: before, during, after',
    load: async () => (await import('./topics/texts.ts')).upgradePage,
  },
  {
    name: 'security',
    summary: 'Where secrets are kept and what is redacted',
    load: async () => (await import('./topics/texts.ts')).securityPage,
  },
];

import type { Group, Program } from '../cli/program.ts';

/** The first words of all commands. Only the addressed group is ever loaded. */
export const groups: readonly Group[] = [
  {
    name: 'login',
    section: 'Work',
    summary: 'Sign in with the browser',
    load: async () => (await import('./login.ts')).commands,
  },
  {
    name: 'logout',
    section: 'Work',
    summary: 'Sign out and revoke the tokens',
    load: async () => (await import('./login.ts')).logoutCommands,
  },
  {
    name: 'auth',
    section: 'Work',
    summary: 'Accounts and tokens',
    load: async () => (await import('./auth/commands.ts')).commands,
  },
  {
    name: 'media',
    section: 'Work',
    summary: 'Call the media data API',
    load: async () => (await import('./api.ts')).mediaCommands,
  },
  {
    name: 'tracker',
    section: 'Work',
    summary: 'Stories, epics, labels and the rest of the work tracker',
    load: async (words = []) => (await import('./tracker/lazy-resource.ts')).load(words),
    explain: async () => (await import('../tracker/search.ts')).explainedRefusal,
  },
  {
    name: 'labels',
    section: 'Work',
    summary: 'Label definitions of the label service',
    load: async () => (await import('./labels/commands.ts')).commands,
  },
  {
    name: 'api',
    section: 'Work',
    summary: 'Any request to a service, with its token',
    load: async () => (await import('./api.ts')).commands,
  },
  {
    name: 'kv',
    section: 'Cluster',
    summary: 'Upgrade and inspect a key-value cluster',
    load: async () => (await import('./kv/commands.ts')).commands,
  },
  {
    name: 'mock',
    section: 'Tools',
    summary: 'The embedded services: serve, reset, seed, rehearse',
    load: async () => (await import('./mock/commands.ts')).commands,
  },
  {
    name: 'config',
    section: 'Tools',
    summary: 'Settings and profiles',
    load: async () => (await import('./config.ts')).commands,
  },
  {
    name: 'doctor',
    section: 'Tools',
    summary: "Find out what is wrong with this machine's set-up",
    load: async () => (await import('./doctor.ts')).commands,
  },
  {
    name: 'completion',
    section: 'Tools',
    summary: 'Completion for bash, zsh, fish and PowerShell',
    load: async () => (await import('./completion.ts')).commands,
  },
  {
    name: 'explain',
    section: 'Tools',
    summary: 'Explain a guard, an error code, an exit code, a setting or a field',
    load: async () => (await import('./about.ts')).explainCommands,
  },
  {
    name: 'reference',
    section: 'Tools',
    summary: 'Endpoints, their fields, limits and errors',
    load: async () => (await import('./about.ts')).commands,
  },
  {
    name: 'commands',
    section: 'Tools',
    summary: 'All commands as data',
    load: async () => (await import('../cli/list-commands.ts')).commandsOver(groups),
  },
  {
    name: 'mcp',
    section: 'Tools',
    summary: 'Serve the commands as tools for agents (Model Context Protocol)',
    load: async () => (await import('./mcp.ts')).commandsOver(groups),
  },
  {
    name: 'version',
    section: 'Tools',
    summary: 'The version, and whether there is a newer one',
    load: async () => (await import('./about.ts')).versionCommands,
  },
  {
    name: 'tour',
    section: 'Tools',
    summary: 'All three jobs end to end on the embedded services',
    load: async () => (await import('./about.ts')).tourCommands,
  },
];

/** What the dispatcher runs: all commands, how they reach a service, and what a person may pick from. */
export const program: Program = {
  groups,
  makeReach: async (env) => (await import('./target.ts')).makeReach(env),
  choicesOf: async (...asked) => (await import('./pick-records.ts')).choicesOf(...asked),
};

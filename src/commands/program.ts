import { extend, type Group, type Program } from '../cli/command.ts';

/** A killed `auth exec` leaves its token file, and the next command about accounts or tokens removes it. */
const removingTokens =
  (load: Group['load']): Group['load'] =>
  async (words) =>
    (await load(words)).map((command) =>
      extend(command, {
        run: async (context, values) => {
          const { removeAbandonedTokens } = await import('../platform/process-identity.ts');
          await removeAbandonedTokens(context.host);
          return command.run(context, values);
        },
      }),
    );

/** The first words of all commands. Only the addressed group is ever loaded. */
export const groups: readonly Group[] = [
  {
    name: 'login',
    section: 'Work',
    summary: 'Sign in with the browser',
    load: removingTokens(async () => (await import('./login.ts')).commands),
  },
  {
    name: 'logout',
    section: 'Work',
    summary: 'Sign out and revoke the tokens',
    load: removingTokens(async () => (await import('./login.ts')).logoutCommands),
  },
  {
    name: 'whoami',
    section: 'Work',
    summary: 'Show who you are for each service',
    load: removingTokens(async () => (await import('./about.ts')).whoamiCommands),
  },
  {
    name: 'auth',
    section: 'Work',
    summary: 'Manage accounts and tokens',
    load: removingTokens(async () => (await import('./auth/checks.ts')).commands),
  },
  {
    name: 'media',
    section: 'Work',
    summary: 'Call the media data API',
    load: removingTokens(async () => (await import('./api.ts')).mediaCommands),
  },
  {
    name: 'tracker',
    section: 'Work',
    summary: 'Manage stories, epics, labels and other tracker records',
    parts: {
      Stories: 'stories story-tasks story-comments story-links search',
      Planning:
        'epics epic-comments health epic-workflow iterations objectives milestones key-results projects',
      'Files and changes from a file': 'bulk sync export diff apply',
      Organization: 'labels categories custom-fields entity-templates workflows members groups',
      'Documents and links': 'documents files linked-files external-links repositories webhooks',
    },
    load: async (words = []) => (await import('./tracker/lazy-resource.ts')).load(words),
    explain: async () => (await import('../tracker/search.ts')).explainedRefusal,
  },
  {
    name: 'labels',
    section: 'Work',
    summary: 'Manage label definitions of the label service',
    parts: {
      'Definitions in files': 'adopt export validate lint diff plan apply schema',
      Labels: 'list get create delta publish disable enable retire delete',
      'Permissions and settings': 'permissions update-copy-mode update-enabled-app-settings locks',
      'The service': 'revisions limits capabilities',
    },
    load: async () => (await import('./labels/commands.ts')).commands,
  },
  {
    name: 'api',
    section: 'Work',
    summary: 'Send an authenticated request to any service',
    load: removingTokens(async () => (await import('./api.ts')).commands),
  },
  {
    name: 'undo',
    section: 'Work',
    summary: 'Undo the last change of the tracker or of labels',
    load: async () => (await import('./audit.ts')).undoCommands,
  },
  {
    name: 'kv',
    section: 'Cluster',
    summary: 'Upgrade and inspect a key-value cluster',
    parts: {
      Upgrade: 'init check plan upgrade resume rollback abort advance downgrade hold rehearse fleet',
      'Reports and records': 'report history clusters versions',
      Inspect: 'status top health version endpoint certs wait',
      Maintenance: 'restart replace-member compact defrag recover-space alarm move-leader member',
      'Snapshots and restore': 'snapshot restore',
      'Keys and leases': 'get put del watch lease',
      Configuration: 'config schema',
    },
    load: async () => (await import('./kv/commands.ts')).commands,
  },
  {
    name: 'mock',
    section: 'Tools',
    summary: 'Run and control the embedded mock services',
    load: async () => (await import('./mock/commands.ts')).commands,
  },
  {
    name: 'config',
    section: 'Tools',
    summary: 'Manage settings and profiles',
    load: async () => (await import('./config.ts')).commands,
  },
  {
    name: 'alias',
    section: 'Tools',
    summary: 'Store command lines under short names',
    load: async () => (await import('./config.ts')).aliasCommandsOver(groups),
  },
  {
    name: 'extension',
    section: 'Tools',
    summary: 'Install and list programs that extend opsctl',
    load: async () => (await import('./integrations.ts')).extensionCommandsOver(groups),
  },
  {
    name: 'audit',
    section: 'Tools',
    summary: 'Show the changes that opsctl made from this machine',
    load: async () => (await import('./audit.ts')).commands,
  },
  {
    name: 'doctor',
    section: 'Tools',
    summary: 'Diagnose the configuration of this machine',
    load: async () => (await import('./config.ts')).doctorCommands,
  },
  {
    name: 'completion',
    section: 'Tools',
    summary: 'Print or install shell completion',
    load: async () => (await import('./integrations.ts')).completionCommands,
  },
  {
    name: 'explain',
    section: 'Tools',
    summary: 'Explain a guard, an error code, an exit code, a setting or a field',
    load: async () => (await import('./about.ts')).explainCommandsOver(groups),
  },
  {
    name: 'reference',
    section: 'Tools',
    summary: 'Show endpoints with their fields, limits and errors',
    load: async () => (await import('./about.ts')).commands,
  },
  {
    name: 'commands',
    section: 'Tools',
    summary: 'List all commands as data',
    load: async () => (await import('../cli/list-commands.ts')).commandsOver(groups),
  },
  {
    name: 'mcp',
    section: 'Tools',
    summary: 'Serve commands as tools for agents (Model Context Protocol)',
    load: async () => (await import('./integrations.ts')).commandsOver(groups),
  },
  {
    name: 'version',
    section: 'Tools',
    summary: 'Show the version, or check for a newer version',
    load: async () => (await import('./about.ts')).versionCommands,
  },
  {
    name: 'tour',
    section: 'Tools',
    summary: 'Demonstrate all features on the embedded services',
    load: async () => (await import('./about.ts')).tourCommands,
  },
];

/** What the dispatcher runs: all commands, how they reach a service, and what a person may pick from. */
export const program: Program = {
  groups,
  makeReach: async (env) => (await import('./target.ts')).makeReach(env),
  choicesOf: async (...asked) => (await import('../tracker/names/resolve.ts')).choicesOf(...asked),
};

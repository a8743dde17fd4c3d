/** One line of the tour; `{directory}` is the directory of the tour. */
export type Stop = { readonly says: string; readonly args: readonly string[] };
export type Chapter = { readonly title: string; readonly stops: readonly Stop[] };

/** Every command is run as it stands here, by the program that prints it. */
export const chapters: readonly Chapter[] = [
  {
    title: '1. Sign in',
    stops: [
      {
        says: 'PKCE, a loopback listener and consent; without a terminal the built-in script answers the pages',
        args: ['login'],
      },
      { says: 'Who is signed in, for how long, with which scopes', args: ['auth', 'status'] },
      {
        says: 'Call the data API with the bearer token',
        args: ['media', 'get', '/media/v3/channels', '--param', 'part=id', '--param', 'mine=true'],
      },
    ],
  },
  {
    title: '2. Work with the tracker and the label service',
    stops: [
      {
        says: 'Create a label',
        args: [
          'tracker',
          'labels',
          'create',
          '--name',
          'tour',
          '--color',
          '#2a7de1',
          '--columns',
          'id,name,color,created_at',
        ],
      },
      {
        says: 'Use it by its name',
        args: [
          'tracker',
          'stories',
          'create',
          '--name',
          'Try opsctl',
          '--story-type',
          'feature',
          '--label',
          'tour',
          '--owner',
          '@ana',
        ],
      },
      {
        says: 'Unset a field',
        args: [
          'tracker',
          'labels',
          'update',
          'tour',
          '--unset',
          'color',
          '--description',
          'Made by the tour',
          '--columns',
          'id,name,color,description',
        ],
      },
      { says: 'Statistics are counted from the stories', args: ['tracker', 'labels', 'list'] },
      { says: 'Search', args: ['tracker', 'search', 'label:tour', '--type', 'story'] },
      {
        says: 'What would be sent, without sending it',
        args: ['tracker', 'labels', 'delete', 'tour', '--dry-run'],
      },
      { says: 'Labels of the label service', args: ['labels', 'list'] },
    ],
  },
  {
    title: '3. Upgrade a cluster from 3.2 to 3.3',
    stops: [
      {
        says: 'Three members, each a process of its own (a rehearsal, not a database)',
        args: [
          'mock',
          'kv',
          'start',
          '--members',
          '3',
          '--dir',
          '{directory}/cluster',
          '--monitor-ms',
          '1000',
        ],
      },
      {
        says: 'Preflight checks: is anything in the way?',
        args: ['kv', 'check', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
      {
        says: 'The plan, step by step',
        args: ['kv', 'plan', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
      {
        says: 'Do it: snapshots, one member at a time, the leader last',
        args: [
          'kv',
          'upgrade',
          '--cluster',
          '{directory}/cluster/cluster.yaml',
          '--yes',
          '--accept-point-of-no-return',
        ],
      },
      {
        says: 'All members run 3.3',
        args: ['kv', 'status', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
    ],
  },
];

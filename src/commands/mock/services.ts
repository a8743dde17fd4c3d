import { CONTROL_PATH } from '../../mock-server/control.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { ServiceEntry, World } from '../../mock-server/service.ts';

const CONSOLE = authPaths.console;

/** Every service of the embedded server, loaded at its first request. The authorization server has all paths that are left. */
export const serviceEntries: readonly ServiceEntry[] = [
  {
    name: 'tracker',
    claims: (path) => path.startsWith('/api/v3/') || path === '/api/v3',
    load: async () => (await import('../../mock-server/tracker/service.ts')).makeTracker,
  },
  {
    name: 'labels',
    claims: (path) => path === '/v2beta' || path.startsWith('/v2beta/'),
    load: async () => (await import('../../mock-server/labels/service.ts')).makeLabels,
  },
  {
    name: 'auth',
    claims: (path) => !path.startsWith(CONTROL_PATH) || path.startsWith(CONSOLE),
    load: async () => (await import('../../mock-server/oauth/service.ts')).makeAuth,
  },
];

const text = (value: unknown): string => JSON.stringify(value, null, 2);

const labelsDiscovery = async (world: World): Promise<string> => {
  const [{ discovery }, { labelsService }] = await Promise.all([
    import('../../reference/discovery.ts'),
    import('../../api-specs/labels/index.ts'),
  ]);
  return text(discovery(labelsService, world.origin()));
};

/** The services described by themselves, made from the tables they run on. */
export const documents: Readonly<Record<string, (world: World) => Promise<string>>> = {
  '/': async (world) =>
    text({
      tracker: `${world.origin()}/api/v3`,
      labels: `${world.origin()}/v2beta`,
      media: world.origin() + authPaths.media,
      sign_in: world.origin() + authPaths.metadata,
      documents: Object.keys(documents).map((path) => world.origin() + path),
      status: `${world.origin()}${CONTROL_PATH}status`,
    }),
  '/openapi.json': async (world) => {
    const [{ openApi }, { tracker }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/tracker/index.ts'),
    ]);
    return text(openApi(tracker, world.origin()));
  },
  '/openapi/labels.json': async (world) => {
    const [{ openApi }, { labelsService }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/labels/index.ts'),
    ]);
    return text(openApi(labelsService, world.origin()));
  },
  '/swagger.json': async (world) => {
    const [{ swagger }, { tracker }] = await Promise.all([
      import('../../reference/swagger.ts'),
      import('../../api-specs/tracker/index.ts'),
    ]);
    return text(swagger(tracker, new URL(world.origin()).host));
  },
  '/discovery/labels/v2beta': labelsDiscovery,
  // Where generic clients of such documents look by themselves: build(…, version), and beside the service.
  '/discovery/v1/apis/labels/v2beta/rest': labelsDiscovery,
  '/$discovery/rest': labelsDiscovery,
};

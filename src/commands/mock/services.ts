import { CONTROL_PATH } from '../../mock-server/control.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { ServiceEntry, Environment } from '../../mock-server/service.ts';

const CONSOLE = authPaths.console;

/** Every service of the embedded server, loaded at its first request. The authorization server has all paths that are left. */
export const serviceEntries: readonly ServiceEntry[] = [
  {
    name: 'tracker',
    claims: (path) => /^\/(api\/v3|app)(\/|$)/.test(path),
    load: async () => (await import('../../mock-server/tracker/service.ts')).makeTracker,
  },
  {
    name: 'labels',
    claims: (path) => /^\/(v2beta|batch|__opsctl\/labels)(\/|$)/.test(path),
    load: async () => (await import('../../mock-server/labels/service.ts')).makeLabels,
  },
  {
    name: 'auth',
    claims: (path) => !path.startsWith(CONTROL_PATH) || path.startsWith(CONSOLE),
    load: async () => (await import('../../mock-server/oauth/service.ts')).makeAuth,
  },
];

const text = (value: unknown): string => JSON.stringify(value, null, 2);

const labelsDiscovery = async (env: Environment): Promise<string> => {
  const [{ discovery }, { labelsService }] = await Promise.all([
    import('../../reference/discovery.ts'),
    import('../../api-specs/labels/index.ts'),
  ]);
  return text(discovery(labelsService, env.origin()));
};

/** The services described by themselves, made from the tables they run on. */
export const documents: Readonly<Record<string, (env: Environment) => Promise<string>>> = {
  '/': async (env) =>
    text({
      tracker: `${env.origin()}/api/v3`,
      labels: `${env.origin()}/v2beta`,
      media: env.origin() + authPaths.media,
      sign_in: env.origin() + authPaths.metadata,
      documents: Object.keys(documents).map((path) => env.origin() + path),
      status: `${env.origin()}${CONTROL_PATH}status`,
    }),
  '/openapi.json': async (env) => {
    const [{ openApi }, { tracker }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/tracker/index.ts'),
    ]);
    return text(openApi(tracker, env.origin()));
  },
  '/openapi/labels.json': async (env) => {
    const [{ openApi }, { labelsService }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/labels/index.ts'),
    ]);
    return text(openApi(labelsService, env.origin()));
  },
  '/swagger.json': async (env) => {
    const [{ swagger }, { tracker }] = await Promise.all([
      import('../../reference/swagger.ts'),
      import('../../api-specs/tracker/index.ts'),
    ]);
    return text(swagger(tracker, new URL(env.origin()).host));
  },
  '/discovery/labels/v2beta': labelsDiscovery,
  // Where generic clients of such documents look by themselves: build(…, version), and beside the service.
  '/discovery/v1/apis/labels/v2beta/rest': labelsDiscovery,
  '/$discovery/rest': labelsDiscovery,
};

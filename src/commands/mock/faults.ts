import { oneOf } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';

const feature = oneOf(
  'documents',
  'entity-templates',
  'iterations',
  'group-entitlement',
  'objective-entitlement',
);

export const featuresShow = defineCommand({
  path: ['mock', 'features', 'show'],
  summary: "Which features the tracker's workspace has",
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    return recordResult(await steer(context, (send) => send('GET', 'features')));
  },
});
export const featuresSet = defineCommand({
  path: ['mock', 'features', 'set'],
  noDryRun: 'opsctl mock features show',
  summary: "Switch a feature of the tracker's workspace on or off",
  about:
    'documents off: 403 DisabledFeatureError. group-entitlement and objective-entitlement off: 403 UnusableEntitlementError where groups are made or ' +
    'changed and objectives are made. entity-templates and iterations are what their enable and disable commands switch.',
  args: [
    { name: 'feature', field: feature, summary: 'The feature' },
    { name: 'state', field: oneOf('on', 'off'), summary: 'on or off' },
  ],
  examples: [
    {
      line: 'opsctl mock features set documents off',
      says: 'See what a workspace without documents answers',
    },
  ],
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    const all = await steer(context, (send) =>
      send('PUT', 'features', { [values.feature]: values.state === 'on' }),
    );
    return recordResult(all, { message: `${values.feature} is ${values.state}` });
  },
});

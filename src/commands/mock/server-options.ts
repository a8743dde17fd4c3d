import { defaultOptions } from '../../mock-server/defaults.ts';
import type { MockOptions } from '../../mock-server/service.ts';
import type { ServerValues } from './server-flags.ts';

const rateOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return defaultOptions.ratePerMinute;
  return text === 'off' ? undefined : Number(text);
};

/** spec/labels#parameters, spec/labels#limits: real services have a quota and a largest number of labels; here both are switched on. */
const labelLimits = (values: ServerValues): Pick<MockOptions, 'labelsQuota' | 'labelsAtMost'> => {
  const [reads, writes] = String(values['labels-quota'] ?? 'off')
    .split('/')
    .map(Number);
  const most = Number(values['labels-at-most'] ?? 'off');
  return {
    ...(reads === undefined || writes === undefined ? {} : { labelsQuota: { reads, writes } }),
    ...(Number.isNaN(most) ? {} : { labelsAtMost: most }),
  };
};

export const mockOptions = (values: ServerValues): MockOptions => ({
  ratePerMinute: rateOf(values['rate-limit']),
  rateRetryAfter: values['rate-retry-after'] === true,
  ...(values['rate-headers'] ? { rateHeaders: true } : {}),
  ...(values['workspace-per-token'] ? { workspacePerToken: true } : {}),
  labelsAuth: values['labels-auth'] ?? defaultOptions.labelsAuth,
  stateIn: values['state-in'] ?? defaultOptions.stateIn,
  labelDeletePolicy: values['label-delete-policy'] ?? defaultOptions.labelDeletePolicy,
  ...labelLimits(values),
  trackerToken: values.token ?? defaultOptions.trackerToken,
  ...(values['allow-host'] === undefined ? {} : { allowHosts: values['allow-host'] }),
});

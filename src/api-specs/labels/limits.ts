import { help, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { labelLimits, userCapabilities } from './constraint.ts';
import { capabilitiesName } from './wire.ts';

/** spec/labels#limits. */
export const limits = {
  get: op({
    method: 'GET',
    path: '/limits/label',
    id: 'limits.getLabel',
    summary: 'Show the structural limits of labels',
    cites: 'spec/labels#limits',
    query: { name: help(str(), 'limits/label; the path says it already') },
    ok: 200,
    returns: labelLimits,
    cli: {
      examples: ['opsctl labels limits get'],
      columns: [
        'name',
        'maxTitleLength',
        'maxDescriptionLength',
        'maxFields',
        'maxDeletedFields',
        'maxDraftRevisions',
      ],
    },
  }),
} as const satisfies Resource;

/** spec/labels#capabilities. */
export const capabilities = {
  get: op({
    method: 'GET',
    path: '/{name=users/*/capabilities}',
    id: 'users.getCapabilities',
    summary: 'Show what a user may do with labels',
    cites: 'spec/labels#capabilities',
    params: { name: capabilitiesName },
    query: { customer: help(str(), "customers/<id>; default: the caller's own") },
    ok: 200,
    returns: userCapabilities,
    cli: {
      examples: ['opsctl labels capabilities get me'],
      columns: [
        'name',
        'canAccessLabelManager',
        'canAdministrateLabels',
        'canCreateAdminLabels',
        'canCreateSharedLabels',
      ],
    },
  }),
} as const satisfies Resource;

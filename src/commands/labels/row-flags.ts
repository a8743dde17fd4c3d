import { bool, int, str } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import type { Argument, Flag } from '../../cli/command.ts';
import { adminFlag, labelArgument } from './flags.ts';
import {
  isCapabilities,
  isOnePermission,
  isUnderRevision,
  paged,
  takesAdmin,
  takesPin,
} from './row-kinds.ts';

const revisionArgument = {
  name: 'revision',
  effects: [],
  field: str(),
  summary: 'Number of the revision, or latest, published (default latest)',
  optional: true,
} as const satisfies Argument;
const permissionArgument = {
  name: 'permission',
  effects: [],
  field: str(),
  summary:
    'Its id, or the e-mail address, person, group or audience that has it; not needed with a full name',
  optional: true,
} as const satisfies Argument;
const userArgument = {
  name: 'user',
  effects: [],
  field: str(),
  summary: 'me, an id or an address (default me)',
  optional: true,
} as const satisfies Argument;

export const argumentsFor = (operation: Operation): readonly Argument[] => {
  if (operation.params === undefined) return [];
  if (isCapabilities(operation)) return [userArgument];
  const revision = isUnderRevision(operation) ? [revisionArgument] : [];
  // A full permission name is one argument; label, revision and permission are three.
  return isOnePermission(operation)
    ? [labelArgument, permissionArgument, ...revision]
    : [labelArgument, ...revision];
};

export const extraFlags = (operation: Operation): Record<string, Flag> => ({
  ...(takesAdmin(operation) ? { admin: adminFlag } : {}),
  ...(takesPin(operation)
    ? { revision: { field: str(), summary: 'Refuse unless this is the latest revision', value: 'number' } }
    : {}),
  ...(paged(operation)
    ? {
        all: { effects: [], field: bool(), summary: 'All pages, as without --limit' },
        limit: {
          field: int({ min: 1 }),
          summary: 'Stop after so many entries (default: all of them)',
          value: 'number',
        },
      }
    : {}),
  ...(operation.method === 'GET'
    ? {
        fields: {
          effects: [],
          field: str(),
          summary: 'Only these members of the answer: labels(id,properties/title)',
          value: 'members',
        },
      }
    : {}),
  ...(operation.bodyName === 'Label'
    ? {
        title: { field: str(), summary: 'Title; short for --properties \'{"title":…}\'', value: 'text' },
        description: { field: str(), summary: 'Description; short for --properties', value: 'text' },
      }
    : {}),
});

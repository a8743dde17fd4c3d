import { type Field, bare } from '../core/field.ts';
import type { Argument, Effect, Flag } from '../core/flag.ts';

/**
 * Hand-written read-only commands: they change no data on this machine or in a service. `api` is read-only
 * with GET.
 */
const looking: ReadonlySet<string> = new Set([
  'auth status',
  'whoami',
  'auth list',
  'auth conformance',
  'auth inspect',
  'media get',
  'config list',
  'alias list',
  'extension list',
  'audit',
  'config get',
  'config path',
  'config profiles',
  'version',
  'kv versions',
  'doctor',
  'doctor auth',
  'completion',
  'reference',
  'explain',
  'commands',
  'api',
  'tracker export',
  'tracker stories mine',
  'tracker stories list',
  'tracker stories watch',
  'tracker stories wait',
  'tracker stories open',
  'tracker iterations current',
  'tracker diff',
  'tracker bulk runs',
  'tracker webhooks listen',
  'labels diff',
  'labels validate',
  'labels lint',
  'labels schema',
  'labels locks',
  'labels permissions export',
  'mock status',
  'mock env',
  'mock snapshot list',
  'mock webhooks deliveries',
  'mock state',
  'mock requests',
  'mock clock show',
  'mock faults list',
  'mock features show',
  'mock kv status',
  'mock kv log',
  'kv schema',
  'kv status',
  'kv top',
  'kv check',
  'kv plan',
  'kv health',
  'kv version',
  'kv endpoint health',
  'kv endpoint status',
  'kv endpoint hashkv',
  'kv get',
  'kv watch',
  'kv lease timetolive',
  'kv lease list',
  'kv member list',
  'kv alarm list',
  'kv snapshot verify',
  'kv snapshot status',
  'kv snapshot list',
  'kv snapshot diff',
  'kv certs',
  'kv clusters',
  'kv wait',
  'kv hold show',
  'kv history',
  'kv config lint',
  'kv report',
]);

export const isReadOnlyCommand = (words: string): boolean => looking.has(words);

/** Hand-written commands that support --dry-run. A command in neither list rejects --dry-run. */
const showing: ReadonlySet<string> = new Set([
  'logout',
  'auth logout',
  'auth refresh',
  'auth revoke',
  'auth setup',
  'tracker bulk',
  'tracker sync',
  'tracker bulk undo',
  'undo',
  'tracker apply',
  'labels apply',
  'labels plan',
  'labels adopt',
  'labels export',
  'labels retire',
  'labels permissions sync',
  'labels permissions import',
  'kv upgrade',
  'kv fleet',
  'kv downgrade',
  'kv restart',
  'kv advance',
  'kv restore',
  'kv defrag',
  'kv compact',
  'kv recover-space',
  'kv replace-member',
  'kv member add',
  'kv member promote',
  'kv member update',
  'kv member remove',
  'kv snapshot prune',
]);

export const showsFirst = (words: string): boolean => showing.has(words);

/** Numbers, moments, durations and members of a closed list: no such value names a file, a program or an address. */
const isHarmless = (field: Field): boolean => {
  const inner = bare(field);
  switch (inner.type) {
    case 'integer':
    case 'number':
      return true;
    case 'array':
      return isHarmless(inner.items);
    case 'string':
      return (
        (inner.enum !== undefined && inner.open !== true) ||
        ['date', 'datetime', 'duration', 'color', 'uuid'].includes(inner.format ?? '')
      );
    default:
      return false;
  }
};

/**
 * Returns the declared effects of a flag or an argument. Undefined: this kind of value needs a declaration
 * that is missing.
 */
export const effectsOf = ({ effects, field }: Flag | Argument): readonly Effect[] | undefined =>
  effects ?? (isHarmless(field) ? [] : undefined);

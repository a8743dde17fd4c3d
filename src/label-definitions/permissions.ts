import { type Problem, problem } from '../core/problem.ts';
import { nearest } from '../core/nearest.ts';
import type { PermissionJson } from './api-types.ts';

export type Wanted = Omit<PermissionJson, 'name'>;
const members = ['email', 'person', 'group', 'audience'] as const;
const roles = ['READER', 'APPLIER', 'ORGANIZER', 'EDITOR'];

/** Who has it, in the words that name them best. */
export const whoOf = (permission: PermissionJson): string =>
  permission.email ?? permission.person ?? permission.group ?? permission.audience ?? '';

const readOne = (value: unknown, path: string, problems: Problem[]): Wanted => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(problem(path, 'type', 'must be {role, email | person | group | audience}'));
    return {};
  }
  const given = value as Record<string, unknown>;
  for (const key of Object.keys(given)) {
    const known = ['name', 'role', ...members];
    const close = nearest(key, known);
    if (!known.includes(key))
      problems.push(
        problem(`${path}.${key}`, 'unknown', 'is not a known key', close && `did you mean ${close}?`),
      );
  }
  const role = String(given.role ?? '').toUpperCase();
  if (!roles.includes(role))
    problems.push(
      problem(`${path}.role`, 'enum', `must be one of ${roles.join(', ')}; got ${given.role ?? 'nothing'}`),
    );
  const set = members.filter((key) => given[key] !== undefined);
  // A listed permission has an address and a principal; the address says it all.
  const [who] = set;
  const isPair = set.length === 2 && who === 'email' && set[1] !== 'audience';
  if (who === undefined || (set.length > 1 && !isPair))
    problems.push(problem(path, 'required', 'needs exactly one of email, person, group, audience'));
  return who === undefined ? { role } : { role, [who]: String(given[who]) };
};

/** The list of a file: [{role, email}], or `permissions:` or `labelPermissions:` over such a list. Pure. */
export const permissionsFrom = (
  value: unknown,
): { readonly wanted: readonly Wanted[]; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = [];
  const inner = value as { permissions?: unknown; labelPermissions?: unknown } | null;
  const list = Array.isArray(value) ? value : (inner?.permissions ?? inner?.labelPermissions);
  if (!Array.isArray(list))
    return { wanted: [], problems: [problem('', 'type', 'must be a list of permissions')] };
  const wanted = list.map((item, i) => readOne(item, `[${i}]`, problems));
  const names = wanted.map(whoOf);
  for (const [i, name] of names.entries())
    if (name !== '' && names.indexOf(name) < i)
      problems.push(problem(`[${i}]`, 'rule', `names ${name} a second time`));
  return { wanted, problems };
};

export type PermissionPlan = {
  readonly added: readonly Wanted[];
  readonly changed: readonly { readonly from: string; readonly to: Wanted }[];
  readonly removed: readonly PermissionJson[];
};

const same = (wanted: Wanted, live: PermissionJson): boolean => {
  const equal = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && a.toLowerCase() === b?.toLowerCase();
  return members.some((key) => equal(wanted[key], live[key]));
};

/** What makes the permissions those of the file. Pure. */
export const permissionPlan = (
  wanted: readonly Wanted[],
  live: readonly PermissionJson[],
  keep: boolean,
): PermissionPlan => ({
  added: wanted.filter((w) => !live.some((l) => same(w, l))),
  changed: wanted.flatMap((w) => {
    const found = live.find((l) => same(w, l));
    return found && found.role !== w.role ? [{ from: found.role ?? '', to: w }] : [];
  }),
  removed: keep ? [] : live.filter((l) => !wanted.some((w) => same(w, l))),
});

export const permissionText = ({ added, changed, removed }: PermissionPlan): string => {
  const lines = [
    ...added.map((p) => `  + ${whoOf(p)} ${p.role}`),
    ...changed.map(({ from, to }) => `  ~ ${whoOf(to)} ${from} becomes ${to.role}`),
    ...removed.map((p) => `  x ${whoOf(p)} ${p.role}`),
  ];
  return lines.length === 0 ? '  no changes' : lines.join('\n');
};

import { labelRoles, principalMembers } from '../api-specs/labels/wire.ts';
import { nearest } from '../core/text.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { PermissionJson } from './api-types.ts';
import { type PermissionDef, permissionMembers } from './definition.ts';

const members = ['email', ...principalMembers] as const;

/** The principal in its most readable form. */
export const principalName = (permission: Partial<PermissionDef>): string =>
  permission.email ?? permission.person ?? permission.group ?? permission.audience ?? '';

/** The output of `permissions list` contains `name`; the principal is sufficient. */
const known = ['name', ...Object.keys(permissionMembers)];

export const permissionIn = (value: unknown, path: string, problems: Problem[]): PermissionDef => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(problem(path, 'type', 'must be {role, email | person | group | audience}'));
    return { role: '' };
  }
  const given = value as Record<string, unknown>;
  for (const key of Object.keys(given)) {
    const close = nearest(key, known);
    if (!known.includes(key))
      problems.push(
        problem(`${path}.${key}`, 'unknown', 'is not a known key', close && `did you mean ${close}?`),
      );
  }
  const role = String(given.role ?? '').toUpperCase();
  if (!labelRoles.some((one) => one === role))
    problems.push(
      problem(
        `${path}.role`,
        'enum',
        `must be one of ${labelRoles.join(', ')}; got ${given.role ?? 'nothing'}`,
      ),
    );
  const set = members.filter((key) => given[key] !== undefined);
  // A listed permission has an email address and a principal; the email address is sufficient.
  const [who] = set;
  const isPair = set.length === 2 && who === 'email' && set[1] !== 'audience';
  if (who === undefined || (set.length > 1 && !isPair))
    problems.push(problem(path, 'required', 'needs exactly one of email, person, group, audience'));
  return who === undefined ? { role } : { role, [who]: String(given[who]) };
};

export const repeatedPermissions = (wanted: readonly PermissionDef[], path: string): Problem[] => {
  const names = wanted.map((one) => principalName(one).toLowerCase());
  return names.flatMap((name, i) =>
    name !== '' && names.indexOf(name) < i
      ? [problem(`${path}[${i}]`, 'rule', `names ${principalName(wanted[i] ?? {})} a second time`)]
      : [],
  );
};

/** The list of a file: [{role, email}], or `permissions:` or `labelPermissions:` over such a list. Pure. */
export const permissionsFrom = (
  value: unknown,
): { readonly wanted: readonly PermissionDef[]; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = [];
  const inner = value as { permissions?: unknown; labelPermissions?: unknown } | null;
  const list = Array.isArray(value) ? value : (inner?.permissions ?? inner?.labelPermissions);
  if (!Array.isArray(list))
    return { wanted: [], problems: [problem('', 'type', 'must be a list of permissions')] };
  const wanted = list.map((item, i) => permissionIn(item, `[${i}]`, problems));
  return { wanted, problems: [...problems, ...repeatedPermissions(wanted, '')] };
};

export type PermissionPlan = {
  readonly added: readonly PermissionDef[];
  readonly changed: readonly { readonly from: string; readonly to: PermissionDef }[];
  readonly removed: readonly PermissionJson[];
};

export const isSamePrincipal = (wanted: Partial<PermissionDef>, live: Partial<PermissionDef>): boolean => {
  const equal = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && a.toLowerCase() === b?.toLowerCase();
  return members.some((key) => equal(wanted[key], live[key]));
};

/** The edits that make the permissions match the file. Pure. */
export const permissionPlan = (
  wanted: readonly PermissionDef[],
  live: readonly PermissionJson[],
  keep: boolean,
): PermissionPlan => ({
  added: wanted.filter((w) => !live.some((l) => isSamePrincipal(w, l))),
  changed: wanted.flatMap((w) => {
    const found = live.find((l) => isSamePrincipal(w, l));
    return found && found.role !== w.role ? [{ from: found.role ?? '', to: w }] : [];
  }),
  removed: keep ? [] : live.filter((l) => !wanted.some((w) => isSamePrincipal(w, l))),
});

export const permissionText = ({ added, changed, removed }: PermissionPlan): string => {
  const lines = [
    ...added.map((p) => `  + ${principalName(p)} ${p.role}`),
    ...changed.map(({ from, to }) => `  ~ ${principalName(to)} ${from} becomes ${to.role}`),
    ...removed.map((p) => `  x ${principalName(p)} ${p.role}`),
  ];
  return lines.length === 0 ? '  no changes' : lines.join('\n');
};

import { versionRows } from '../../../api-specs/etcd/versions.ts';
import { fillWords } from '../../../core/shell.ts';
import type { ClusterFile, DriverKind, MemberSpec } from '../../engine/model.ts';

/** Names become parts of file names and arguments of programs: `..`, a leading dash and a leading dot are not names. */
export const namePattern = '^[A-Za-z0-9_][A-Za-z0-9._-]*$';

/** One row per driver: the cluster file, its schema, `kv init` and the help derive from it. */
type DriverRow = {
  readonly kind: DriverKind;
  readonly summary: string;
  /** Required keys of a member. */
  readonly needs: readonly (keyof MemberSpec)[];
  /** Whether the driver also works over ssh: with the same commands on the member's host. */
  readonly overSsh: boolean;
  /** Its tests use a simulated service manager. */
  readonly isExperimental?: true;
};

export const driverRows = [
  {
    kind: 'local',
    summary: 'processes of this machine with a pid file',
    needs: ['pid_file', 'log_file'],
    overSsh: true,
  },
  {
    kind: 'systemd',
    summary: 'units: opsctl replaces binary_path, or without it uses a drop-in to select the program',
    needs: ['unit'],
    overSsh: true,
  },
  {
    kind: 'ssh',
    summary: 'members on other hosts, by the driver that ssh.then names',
    needs: ['host'],
    overSsh: false,
  },
  {
    kind: 'docker',
    summary: 'containers: recreated from their inspect output with new_image; the old container is kept',
    needs: ['container', 'new_image'],
    overSsh: true,
  },
  {
    kind: 'podman',
    summary: 'as docker',
    needs: ['container', 'new_image'],
    overSsh: true,
    isExperimental: true,
  },
  {
    kind: 'static-pod',
    summary: 'a manifest that a kubelet watches',
    needs: ['manifest', 'new_image', 'old_image'],
    overSsh: true,
    isExperimental: true,
  },
  {
    kind: 'hooks',
    summary: 'your own commands',
    needs: [],
    overSsh: false,
  },
] as const satisfies readonly DriverRow[];

type Row = (typeof driverRows)[number];
type Remote = Extract<Row, { readonly overSsh: true }>['kind'];
type NonEmpty<T> = readonly [T, ...T[]];
export const driverKinds = driverRows.map(({ kind }) => kind) as unknown as NonEmpty<Row['kind']>;
export const remoteKinds = driverRows.flatMap((row) =>
  row.overSsh ? [row.kind] : [],
) as unknown as NonEmpty<Remote>;

const experimental = driverRows.flatMap((row: DriverRow) => (row.isExperimental === true ? [row.kind] : []));
export const experimentalText = `${experimental.join(' and ')} are experimental: not tested on a real one`;

export const neededBy = (kind: string): readonly (keyof MemberSpec)[] =>
  driverRows.find((row) => row.kind === kind)?.needs ?? [];

type HookCommand = { readonly name: string; readonly words: readonly string[] };
type HookValues = Readonly<Record<string, string | undefined>>;
/** The placeholders of the hooks `before_member` and `after_member`. */
export const memberHookValues = (member: MemberSpec, to: string | undefined): HookValues => {
  const { name, client_url, data_dir, host } = member;
  return { name, client_url, data_dir, host, to };
};
/** The placeholders of the hooks of the driver `hooks`. */
export const driverHookValues = (member: MemberSpec, which: 'old' | 'new', to?: string): HookValues => ({
  ...memberHookValues(member, to),
  container: member.container,
  image: member[`${which}_image`],
  binary: member[`${which}_binary`],
  config: member.config_file,
  version: which,
  unit: member.unit,
});
/**
 * Every command line that a run can make of the hooks: for each member, and for each version if a hook names
 * the version. A check of all of them before the first step leaves no refusal to the middle of a run. Pure.
 */
export const hookCommands = ({ hooks = {}, members, to }: ClusterFile): HookCommand[] => {
  const targets = [...new Set([to, ...versionRows.map(({ minor }) => minor)])];
  const all = Object.entries(hooks).flatMap(([name, line]) =>
    members.flatMap((member) =>
      targets.flatMap((target) => {
        const values =
          name === 'before_member' || name === 'after_member'
            ? [memberHookValues(member, target)]
            : [driverHookValues(member, 'old', target), driverHookValues(member, 'new', target)];
        return values.map((one) => ({ name, words: fillWords(line, one) }));
      }),
    ),
  );
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
};

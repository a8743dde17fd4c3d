import type { Host } from '../../platform/host.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { configBefore } from './configuration/config-before.ts';
import type { Journal } from '../engine/journal.ts';
import type { Driver, StartedMember, Which } from './supervisors/driver.ts';
import type { MemberSpec, Placement } from '../engine/types.ts';
import { placementOf } from './placement.ts';

/** What a switch needs of a run or a restore. */
export type Switching = {
  readonly host: Host;
  readonly driver: Driver;
  /** Of the run: records and configurations of versions before are beside it. */
  readonly directory: string;
  readonly journal?: Pick<Journal, 'entries'>;
};

/** The configuration of the version before, as it was kept; a run of an earlier opsctl kept it in its own directory. */
const keptText = async (
  { host, driver, directory }: Switching,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<string | undefined> => {
  const kept = placement?.previous.config;
  return kept === undefined ? configBefore(host, directory, member.name) : driver.readFile(member, kept);
};

export const configOn = async (
  switching: Switching & { readonly plan: { readonly from: Minor } },
  member: MemberSpec,
): Promise<string | undefined> =>
  keptText(switching, member, await placementOf(switching, member.name, switching.plan.from));

const restoreConfig = async (
  switching: Switching,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<void> => {
  const { driver } = switching;
  const path = member.config_file;
  if (path === undefined) return;
  const before = await keptText(switching, member, placement);
  if (before !== undefined && before !== (await driver.readFile(member, path)))
    await driver.writeFile(member, path, before);
};

/** Between a stop and a start: program, image or unit of that version, the old version with its own configuration; then the start. */
export const startVersion = async (
  switching: Switching,
  member: MemberSpec,
  which: Which,
  from: Minor,
): Promise<StartedMember> => {
  const { driver } = switching;
  const placement = await placementOf(switching, member.name, from);
  await driver.activate(member, which, placement);
  if (which === 'old') await restoreConfig(switching, member, placement);
  return driver.start(member, which, placement);
};

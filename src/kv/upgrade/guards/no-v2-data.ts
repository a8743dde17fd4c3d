import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf } from '../configuration/configuration.ts';
import type { ClusterFile, MemberSeen, MemberSpec } from '../../engine/types.ts';
import { guard, sees } from './guard.ts';

type Way = { readonly from?: Minor | undefined; readonly to?: Minor | undefined };
const refusesV2 = ({ from, to }: Way): boolean => from === '3.5' && to === '3.6';

/** The store's own program has to read the directory of a stopped member, and only on this machine it can be run. */
export const checksV2 = ({ utl_binary, driver = 'local' }: ClusterFile, way: Way): boolean =>
  refusesV2(way) && utl_binary !== undefined && driver === 'local';

export const v2CheckLine = (
  { utl_binary = 'etcdutl' }: ClusterFile,
  dataDir: string,
): [string, ...string[]] => [utl_binary, 'check', 'v2store', '--data-dir', dataDir];

const isOn = (value: unknown): boolean => value === true || value === 'true' || value === '';
const servesV2 = (spec: MemberSpec | undefined, host: MemberSeen['host']): boolean => {
  const flags = flagsOf(argvOf(spec?.old_command, spec?.old_binary) ?? []);
  const file = host?.config?.['enable-v2'];
  return (
    isOn(flags.get('enable-v2')) || isOn(spec?.env?.['ETCD_ENABLE_V2']) || (file !== undefined && isOn(file))
  );
};

/** 3.6 does not start on data of the v2 interface, in its snapshot or in its log; even a read through /v2 is in the log, so it is never asked. */
export const noV2Data = guard(
  'no-v2-data',
  'the v2 interface is off, and every stopped member is looked at for v2 data before its start',
  ({ observation, cluster, from, to }, log) => {
    for (const { name, host } of observation.members)
      if (
        servesV2(
          cluster.members.find((spec) => spec.name === name),
          host,
        )
      )
        log.fail({
          member: name,
          message: `${name} serves the v2 interface (enable-v2): 3.6 has none and does not start with data of it`,
          hint: 'move the clients to v3, remove the v2 data, and restart every member without enable-v2 first',
        });
    if (!checksV2(cluster, { from, to }))
      log.unknown({
        message: 'whether the data directories hold v2 data could not be seen: 3.6 does not start with it',
        hint:
          (cluster.driver ?? 'local') === 'local'
            ? 'utl_binary in the cluster file, the etcdutl of 3.5.32 or later, lets each member be looked at between its stop and its start; a member that does not start gets 3.5 back'
            : 'etcdutl check v2store --data-dir DIR on a stopped member says it (3.5.32 or later); a member that does not start gets 3.5 back',
      });
  },
  sees.answer,
  {
    skips: ({ from, to }) =>
      refusesV2({ from, to }) ? undefined : 'only the upgrade from 3.5 to 3.6 refuses v2 data',
  },
);

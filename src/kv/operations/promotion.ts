import { compareVersions, minorOf } from '../../api-specs/etcd/versions.ts';
import type { Finding, Observation } from '../engine/types.ts';
import { condition } from './plan.ts';

/** 3.5.1 to 3.5.23 do not keep a promotion where 3.6 looks for it: after an upgrade to 3.6 the member would be a learner again. */
const keptFrom = '3.5.24';
export const promotionIsKept = ({ members }: Observation): Finding[] => {
  const old = members.find(
    ({ server_version: version = '' }) =>
      minorOf(version) === '3.5' && compareVersions(version, keptFrom) < 0,
  );
  return old === undefined
    ? []
    : [
        condition(
          'promotion-is-kept',
          '',
          {
            member: old.name,
            message: `${old.name} runs ${old.server_version}: a promotion by a version below ${keptFrom} is forgotten by 3.6`,
            hint: 'before 3.6, upgrade every member to the newest 3.5 and restart it once',
          },
          'warn',
        ),
      ];
};

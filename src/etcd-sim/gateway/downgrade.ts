import { minorOf } from '../forms.ts';
import { enumField, textField } from './fields.ts';
import { agreed, checkToken, header, linearized } from './kv.ts';
import { type Api, type Body, type Call, RpcError } from './rpc.ts';

const before = (version: string): string => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return `${major}.${minor - 1}`;
};

/** One minor below the cluster's version, and nothing else. */
const targetOf = (api: Api, call: Call): string => {
  const asked = textField(call.body, 'version');
  if (!/^\d+\.\d+(\.\d+)?$/.test(asked))
    throw new RpcError(3, 'etcdserver: wrong downgrade target version format');
  const cluster = api.node.machine.clusterVersion;
  if (cluster === undefined || before(cluster) !== minorOf(asked))
    throw new RpcError(3, 'etcdserver: invalid downgrade target version');
  return `${minorOf(asked)}.0`;
};

/** A real 3.5 answers ENABLE and CANCEL with an error after its deadline. */
const refuseBefore36 = (api: Api): void => {
  if (!api.form.has.downgrade) throw new RpcError(14, 'etcdserver: request timed out');
};

export const downgrade = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const actions = ['VALIDATE', 'ENABLE', 'CANCEL'] as const;
  const action = enumField(call.body, 'action', actions, 'DowngradeRequest_DowngradeAction');
  const answer = (): Body => ({
    header: header(api),
    version: minorOf(api.node.machine.clusterVersion ?? ''),
  });
  if (action === 'CANCEL') {
    refuseBefore36(api);
    // Also when nothing is enabled: the answer says nothing.
    await agreed(api, { op: 'downgrade' });
    return answer();
  }
  await linearized(api);
  const target = targetOf(api, call);
  if (action === 'ENABLE') {
    refuseBefore36(api);
    await agreed(api, { op: 'downgrade', target });
  }
  return answer();
};

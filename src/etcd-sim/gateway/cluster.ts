import { decimal } from '../disk/identity.ts';
import { textField } from './fields.ts';
import { agreed, checkLooking, checkToken, header } from './kv.ts';
import { type Api, type Body, type Call, RpcError, filled } from './rpc.ts';
import { passwordHash } from './tokens.ts';

export type Listed = {
  readonly id: string;
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly clientURLs: readonly string[];
  readonly isLearner: boolean;
};
/** A member without a name has not started yet. */
export const listedMembers = ({ node: { machine } }: Pick<Api, 'node'>): Listed[] =>
  machine.membership.all.map(({ id, peerUrls, isLearner }) => {
    const published = machine.published.get(id);
    const [name, clientURLs] = [published?.name ?? '', published?.clientUrls ?? []];
    return { id, name, peerURLs: peerUrls, clientURLs, isLearner };
  });

export const memberBody = ({ id, ...rest }: Listed): Body => filled({ ID: decimal(id), ...rest });
/** The answer of every call about members: all of them, and a header without a revision. */
export const membersBody = (api: Api): Body => ({
  header: header(api, 0),
  members: listedMembers(api).map(memberBody),
});
export const memberList = async (api: Api, call: Call): Promise<Body> => {
  checkLooking(api, call);
  return membersBody(api);
};

export const authenticate = async (api: Api, call: Call): Promise<Body> => {
  const { machine } = api.node;
  if (!machine.isAuthOn) throw new RpcError(9, 'etcdserver: authentication is not enabled');
  const user = machine.users.get(textField(call.body, 'name'));
  if (user === undefined || passwordHash(textField(call.body, 'password'), user.salt) !== user.hash) {
    throw new RpcError(3, 'etcdserver: authentication failed, invalid user ID or password');
  }
  return { header: header(api), token: api.tokens.give(user.name) };
};

export const userAdd = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const name = textField(call.body, 'name');
  if (name === '') throw new RpcError(3, 'etcdserver: user name is empty');
  if (api.node.machine.users.has(name)) throw new RpcError(9, 'etcdserver: user name already exists');
  const salt = Buffer.from(api.host.random(12)).toString('base64');
  await agreed(api, { op: 'user', name, salt, hash: passwordHash(textField(call.body, 'password'), salt) });
  return { header: header(api) };
};
export const authEnable = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  if (!api.node.machine.users.has('root')) throw new RpcError(9, 'etcdserver: root user does not exist');
  await agreed(api, { op: 'auth', on: true });
  return { header: header(api) };
};
export const authDisable = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  await agreed(api, { op: 'auth', on: false });
  return { header: header(api) };
};
export const authStatus = async (api: Api): Promise<Body> =>
  filled({ header: header(api), enabled: api.node.machine.isAuthOn });

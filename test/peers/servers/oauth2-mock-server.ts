import { randomUUID } from 'node:crypto';
import { followed, isOk, type Load, type PeerServer } from './peer-server.ts';

/** oauth2-mock-server does not prompt, accepts any refresh token, and ignores revocations. */
export const oauth2MockServer = async (load: Load): Promise<PeerServer> => {
  const { OAuth2Server } = await load('oauth2-mock-server');
  const server = new OAuth2Server();
  await server.issuer.keys.generate('RS256');
  await server.start(0, '127.0.0.1');
  const issued: string[] = [];
  // Two tokens that are issued in the same second would be identical.
  server.service.on('beforeTokenSigning', (token: { payload: Record<string, unknown> }) => {
    token.payload['jti'] = randomUUID();
  });
  server.service.on('beforeResponse', (answer: { body: { refresh_token?: string } }) => {
    if (answer.body.refresh_token !== undefined) issued.push(answer.body.refresh_token);
  });
  return {
    issuer: server.issuer.url,
    client: { id: 'opsctl' },
    scopes: ['openid'],
    endsUsedTokens: false,
    revocation: 'no-effect',
    signIn: followed,
    isAlive: (token) => isOk(`${server.issuer.url}/userinfo`, token),
    issued: async () => issued,
    close: () => server.stop(),
  };
};

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../../peers/package.json', import.meta.url));
const { OAuth2Server } = await import(pathToFileURL(require.resolve('oauth2-mock-server')).href);
const server = new OAuth2Server();
await server.issuer.keys.generate('RS256');
await server.start(Number(process.argv[2]), '127.0.0.1');
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);

import { help, list, map, oneOf, orNull, record, req, str } from '../../core/field.ts';
import { type Table, op } from '../../core/operation.ts';
import { columns, id } from './console-rows.ts';

const serviceKey = record('ServiceKey', { id: str(), user: str(), created_at: str() });
/** The file that a service account signs in with; the private key is shown once. */
const keyFile = record('ServiceKeyFile', {
  type: str(),
  client_email: str(),
  client_id: str(),
  private_key_id: str(),
  private_key: str(),
  token_uri: str(),
});
const trust = record('Trust', {
  id: str(),
  issuer: str(),
  audience: str(),
  subject: str(),
  user: str(),
  scopes: list(str()),
  jwks: orNull(str()),
  created_at: str(),
});

/** Sign-in of machines: keys of service accounts, trust in the identity tokens of others, and jobs of an embedded CI. */
export const machineRows = {
  serviceKeys: {
    list: op({
      method: 'GET',
      path: '/service-keys',
      summary: 'List keys of service accounts',
      cites: 'spec/sign-in#data-api-3',
      ok: 200,
      returns: list(serviceKey),
      cli: columns('id', 'user', 'created_at'),
    }),
    create: op({
      method: 'POST',
      path: '/service-keys',
      summary: 'Create a key of a service account; the answer is the key file',
      cites: 'spec/sign-in#data-api-3',
      ok: 201,
      returns: keyFile,
      body: { user: req(help(str(320), 'E-mail address or sub of the service account')) },
    }),
    delete: op({
      method: 'DELETE',
      path: '/service-keys/{key}',
      params: id('key', 'The key ID'),
      summary: 'Delete a key of a service account',
      cites: 'spec/sign-in#data-api-3',
      ok: 204,
    }),
  },
  trusts: {
    list: op({
      method: 'GET',
      path: '/trusts',
      summary: 'List whose identity tokens are exchanged',
      cites: 'spec/sign-in#machines',
      ok: 200,
      returns: list(trust),
      cli: columns('id', 'issuer', 'audience', 'subject', 'user'),
    }),
    create: op({
      method: 'POST',
      path: '/trusts',
      summary: 'Exchange identity tokens of an issuer for tokens of a service account',
      cites: 'spec/sign-in#machines',
      ok: 201,
      returns: trust,
      body: {
        issuer: req(help(str(2000), 'Issuer of the identity tokens; `embedded` is the CI of this server')),
        audience: req(help(str(2000), 'The audience that the identity token must name')),
        subject: req(help(str(2000), 'The subject; * stands for any characters')),
        user: req(help(str(320), 'E-mail address or sub of the service account')),
        scopes: help(list(str()), 'Scopes it may ask for (default all)'),
        jwks: help(
          str(100_000),
          'Public keys as JSON (default: read from the metadata of the issuer at each exchange)',
        ),
      },
    }),
    delete: op({
      method: 'DELETE',
      path: '/trusts/{trust}',
      params: id('trust', 'The trust'),
      summary: 'Stop exchanging identity tokens',
      cites: 'spec/sign-in#machines',
      ok: 204,
    }),
  },
  ci: {
    job: op({
      method: 'POST',
      path: '/ci/jobs',
      summary: 'Environment of a CI job with an identity token of this server',
      cites: 'spec/sign-in#machines',
      ok: 200,
      returns: record('CiJob', { issuer: str(), subject: str(), environment: map(str()) }),
      body: {
        provider: req(help(oneOf('github', 'gitlab'), 'Which CI the variables are those of')),
        project: help(str(200), 'Repository or project (default demo/app)'),
        ref: help(str(200), 'Branch (default main)'),
        audience: help(str(2000), 'Audience of the token of gitlab; jobs of github ask for theirs'),
      },
    }),
  },
} as const satisfies Table;

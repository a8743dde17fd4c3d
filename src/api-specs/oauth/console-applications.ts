import { bool, help, list, oneOf, orNull, record, req, str, int } from '../../core/field.ts';
import { type Table, op } from '../../core/operation.ts';
import { clientEditFields, clientFields, clientTypes } from './client-types.ts';
import * as rec from './console-records.ts';
import { consoleAction, clientId, columns, email, id } from './console-records.ts';

/** Projects, OAuth clients, store items and the integrity check. */
export const applicationRows = {
  projects: {
    list: op({
      method: 'GET',
      path: '/projects',
      summary: 'List projects',
      cites: 'spec/sign-in#service-6',
      ok: 200,
      returns: list(rec.project),
      cli: columns('id', 'name', 'organization', 'is_internal', 'media_api'),
    }),
    create: op({
      method: 'POST',
      path: '/projects',
      summary: 'Create a project',
      cites: 'spec/sign-in#service-6',
      ok: 201,
      returns: rec.project,
      body: {
        name: req(help(str(100, { min: 1 }), 'Name')),
        organization: help(str(253), 'Domain of the organization that owns it'),
        is_internal: help(bool(), 'Only accounts of the organization may sign in (org_internal)'),
        media_api: help(bool(), 'Whether the data API is enabled (default on)'),
      },
    }),
    update: op({
      method: 'PATCH',
      path: '/projects/{project}',
      params: id('project', 'Project ID'),
      summary: 'Change a project',
      cites: 'spec/sign-in#errors-4',
      ok: 200,
      returns: rec.project,
      body: {
        name: str(100, { min: 1 }),
        organization: orNull(str(253)),
        is_internal: bool(),
        media_api: bool(),
      },
    }),
  },
  clients: {
    list: op({
      method: 'GET',
      path: '/clients',
      summary: 'List OAuth clients',
      cites: 'spec/sign-in#client',
      ok: 200,
      returns: list(rec.client),
      query: { project: help(str(), 'Only clients of this project') },
      cli: columns('id', 'type', 'name', 'state', 'has_secret', 'is_verified'),
    }),
    create: op({
      method: 'POST',
      path: '/clients',
      summary: 'Create an OAuth client',
      cites: 'spec/sign-in#client',
      ok: 201,
      returns: rec.client,
      body: {
        ...clientFields,
        type: req(help(oneOf(...clientTypes), 'Client type')),
        name: req(clientFields.name),
        project: help(str(), 'Project (default: the first project)'),
      },
    }),
    get: op({
      method: 'GET',
      path: '/clients/{client}',
      params: clientId,
      summary: 'Show a client',
      cites: 'spec/sign-in#client',
      ok: 200,
      returns: rec.client,
    }),
    update: op({
      method: 'PATCH',
      path: '/clients/{client}',
      params: clientId,
      summary: 'Change a client',
      cites: 'spec/sign-in#states-7',
      ok: 200,
      returns: rec.client,
      body: clientEditFields,
    }),
    delete: op({
      method: 'DELETE',
      path: '/clients/{client}',
      params: clientId,
      summary: 'Delete a client, which can be restored for 30 days',
      cites: 'spec/sign-in#states-8',
      ok: 200,
      returns: rec.client,
      cli: { confirm: 'Delete client {client}? Sign-ins with it stop immediately.' },
    }),
    restore: op(
      consoleAction(
        '/clients/{client}/restore',
        clientId,
        rec.client,
        'Restore a deleted client within 30 days',
        'spec/sign-in#limits-5',
      ),
    ),
    resetSecret: op(
      consoleAction(
        '/clients/{client}/secret',
        clientId,
        rec.client,
        'Create a new secret for the client, shown once',
        'spec/sign-in#client',
      ),
    ),
    verify: op({
      method: 'POST',
      path: '/clients/{client}/verify',
      params: clientId,
      body: { account: email },
      summary: 'Verify the ownership of the application',
      cites: 'spec/sign-in#authentication-6',
      ok: 200,
      returns: rec.client,
    }),
  },
  storeItems: {
    list: op({
      method: 'GET',
      path: '/store-items',
      summary: 'List apps and extensions of the store console',
      cites: 'spec/sign-in#authentication-6',
      ok: 200,
      returns: list(rec.storeItem),
    }),
    create: op({
      method: 'POST',
      path: '/store-items',
      summary: 'Register an app or an extension in the store console',
      cites: 'spec/sign-in#authentication-6',
      ok: 201,
      returns: rec.storeItem,
      body: {
        kind: req(oneOf('app', 'extension')),
        package_name: clientFields.package_name,
        fingerprint: clientFields.fingerprint,
        item_id: clientFields.item_id,
        accounts: req(help(list(str(320)), 'Administrators of the app, or the publisher')),
      },
    }),
    delete: op({
      method: 'DELETE',
      path: '/store-items/{item}',
      params: id('item', 'Item ID'),
      summary: 'Remove a store item',
      cites: 'spec/sign-in#authentication-6',
      ok: 204,
    }),
  },
  integrity: {
    get: op({
      method: 'GET',
      path: '/clients/{client}/integrity',
      params: clientId,
      summary: 'Show the state and metrics of an integrity check',
      cites: 'spec/sign-in#authentication-7',
      ok: 200,
      returns: rec.integrity,
    }),
    enable: op(
      consoleAction(
        '/clients/{client}/integrity/enable',
        clientId,
        rec.integrity,
        'Enable monitoring of the integrity check',
        'spec/sign-in#states-6',
      ),
    ),
    enforce: op(
      consoleAction(
        '/clients/{client}/integrity/enforce',
        clientId,
        rec.integrity,
        'Enforce the integrity check',
        'spec/sign-in#states-6',
      ),
    ),
    unenforce: op(
      consoleAction(
        '/clients/{client}/integrity/unenforce',
        clientId,
        rec.integrity,
        'Stop enforcing integrity checks',
        'spec/sign-in#states-6',
      ),
    ),
    disable: op(
      consoleAction(
        '/clients/{client}/integrity/disable',
        clientId,
        rec.integrity,
        'Disable the integrity check',
        'spec/sign-in#states-6',
      ),
    ),
    token: op(
      consoleAction(
        '/clients/{client}/integrity/token',
        clientId,
        record('IntegrityToken', { integrity_token: str(), expires_in: int() }),
        'Print an integrity token like that of the genuine app',
        'spec/sign-in#authentication-7',
      ),
    ),
  },
} as const satisfies Table;

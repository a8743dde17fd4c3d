import { type Resource, op } from '../../core/operation.ts';
import { empty } from './values.ts';
import {
  batchDeleteLabelPermissionsRequest,
  batchUpdateLabelPermissionsRequest,
  batchUpdateLabelPermissionsResponse,
  labelPermission,
  listLabelPermissionsResponse,
} from './permission.ts';
import { adminQuery, pageQuery, revisionName, revisionPermissionName } from './wire.ts';

/** spec/labels#schemas LabelPermission: at most one principal. */
const exclusive = [['person', 'group', 'audience']];
const params = { parent: revisionName };
const columns = ['name', 'role', 'email', 'person', 'group', 'audience'];

/** spec/labels#permissions: the same data, named by way of a revision. */
export const revisionPermissions = {
  update: op({
    method: 'PATCH',
    path: '/{parent=labels/*/revisions/*}/permissions',
    id: 'labels.revisions.updatePermissions',
    summary: 'By way of a revision: set the permission of one principal',
    cites: 'spec/labels#permissions',
    params,
    query: adminQuery,
    body: labelPermission.fields,
    exclusive,
    bodyName: 'LabelPermission',
    ok: 200,
    returns: labelPermission,
    cli: {
      columns,
      examples: [
        'opsctl labels revisions permissions update Contract latest --email reader@example.com --role APPLIER',
      ],
    },
  }),
  batchDelete: op({
    method: 'POST',
    path: '/{parent=labels/*/revisions/*}/permissions:batchDelete',
    id: 'labels.revisions.permissions.batchDelete',
    summary: 'By way of a revision: delete several permissions, all or none',
    cites: 'spec/labels#permissions',
    params,
    body: batchDeleteLabelPermissionsRequest.fields,
    bodyName: 'BatchDeleteLabelPermissionsRequest',
    ok: 200,
    returns: empty,
    cli: { verb: 'batch-delete' },
  }),
  batchUpdate: op({
    method: 'POST',
    path: '/{parent=labels/*/revisions/*}/permissions:batchUpdate',
    id: 'labels.revisions.permissions.batchUpdate',
    summary: 'By way of a revision: set several permissions, all or none',
    cites: 'spec/labels#permissions',
    params,
    body: batchUpdateLabelPermissionsRequest.fields,
    bodyName: 'BatchUpdateLabelPermissionsRequest',
    ok: 200,
    returns: batchUpdateLabelPermissionsResponse,
    cli: {
      verb: 'batch-update',
      examples: [
        'opsctl labels revisions permissions batch-update Contract latest --requests \'[{"labelPermission": {"group": "groups/1", "role": "READER"}}]\'',
      ],
    },
  }),
  create: op({
    method: 'POST',
    path: '/{parent=labels/*/revisions/*}/permissions',
    id: 'labels.revisions.permissions.create',
    summary: 'By way of a revision: give a principal a role; an existing permission is replaced',
    cites: 'spec/labels#permissions',
    params,
    query: adminQuery,
    body: labelPermission.fields,
    exclusive,
    bodyName: 'LabelPermission',
    ok: 200,
    returns: labelPermission,
    cli: {
      columns,
      examples: [
        'opsctl labels revisions permissions create Contract latest --email reader@example.com --role READER',
      ],
    },
  }),
  delete: op({
    method: 'DELETE',
    path: '/{name=labels/*/revisions/*/permissions/*}',
    id: 'labels.revisions.permissions.delete',
    summary: 'By way of a revision: delete a permission',
    cites: 'spec/labels#permissions',
    params: { name: revisionPermissionName },
    query: adminQuery,
    ok: 200,
    returns: empty,
    cli: {
      confirm: 'Delete {name}?',
      examples: ['opsctl labels revisions permissions delete Contract reader@example.com latest --yes'],
    },
  }),
  list: op({
    method: 'GET',
    path: '/{parent=labels/*/revisions/*}/permissions',
    id: 'labels.revisions.permissions.list',
    summary: 'By way of a revision: list permissions',
    cites: 'spec/labels#permissions',
    params,
    query: { ...pageQuery(50), ...adminQuery },
    ok: 200,
    returns: listLabelPermissionsResponse,
    cli: { columns, examples: ['opsctl labels revisions permissions list Contract latest'] },
  }),
} as const satisfies Resource;

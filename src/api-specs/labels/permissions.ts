import { type Resource, op } from '../../core/operation.ts';
import { empty } from './values.ts';
import {
  batchDeleteLabelPermissionsRequest,
  batchUpdateLabelPermissionsRequest,
  batchUpdateLabelPermissionsResponse,
  labelPermission,
  listLabelPermissionsResponse,
} from './permission.ts';
import { adminQuery, labelName, pageQuery, permissionName } from './wire.ts';

/** spec/labels#schemas LabelPermission: at most one principal. */
const exclusive = [['person', 'group', 'audience']];
const params = { parent: labelName };
const columns = ['name', 'role', 'email', 'person', 'group', 'audience'];

/** spec/labels#permissions, of a label as a whole. */
export const permissions = {
  update: op({
    method: 'PATCH',
    path: '/{parent=labels/*}/permissions',
    id: 'labels.updatePermissions',
    summary: 'Set the permission of one principal',
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
      examples: ['opsctl labels permissions update Contract --email reader@example.com --role APPLIER'],
    },
  }),
  batchDelete: op({
    method: 'POST',
    path: '/{parent=labels/*}/permissions:batchDelete',
    id: 'labels.permissions.batchDelete',
    summary: 'Delete several permissions, all or none',
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
    path: '/{parent=labels/*}/permissions:batchUpdate',
    id: 'labels.permissions.batchUpdate',
    summary: 'Set several permissions, all or none',
    cites: 'spec/labels#permissions',
    params,
    body: batchUpdateLabelPermissionsRequest.fields,
    bodyName: 'BatchUpdateLabelPermissionsRequest',
    ok: 200,
    returns: batchUpdateLabelPermissionsResponse,
    cli: {
      verb: 'batch-update',
      examples: [
        'opsctl labels permissions batch-update Contract --requests \'[{"labelPermission": {"group": "groups/1", "role": "READER"}}]\'',
      ],
    },
  }),
  create: op({
    method: 'POST',
    path: '/{parent=labels/*}/permissions',
    id: 'labels.permissions.create',
    summary: 'Give a principal a role; an existing permission is replaced',
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
      examples: ['opsctl labels permissions create Contract --email reader@example.com --role READER'],
    },
  }),
  delete: op({
    method: 'DELETE',
    path: '/{name=labels/*/permissions/*}',
    id: 'labels.permissions.delete',
    summary: 'Delete a permission',
    cites: 'spec/labels#permissions',
    params: { name: permissionName },
    query: adminQuery,
    ok: 200,
    returns: empty,
    cli: {
      confirm: 'Delete {name}?',
      examples: ['opsctl labels permissions delete Contract reader@example.com --yes'],
    },
  }),
  list: op({
    method: 'GET',
    path: '/{parent=labels/*}/permissions',
    id: 'labels.permissions.list',
    summary: 'List permissions',
    cites: 'spec/labels#permissions',
    params,
    query: { ...pageQuery(50), ...adminQuery },
    ok: 200,
    returns: listLabelPermissionsResponse,
    cli: { columns, examples: ['opsctl labels permissions list Contract'] },
  }),
} as const satisfies Resource;

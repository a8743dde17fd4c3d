import { bool, help, list, oneOf, req, str } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import {
  adminQuery,
  empty,
  labelName,
  labelRoles,
  requireField,
  pageQuery,
  permissionName,
  principalMembers,
  revisionName,
  revisionPermissionName,
  schema,
} from './wire.ts';

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: permissions and their batches.

const labelPermission = schema(
  'LabelPermission',
  {
    audience: help(
      str(),
      'audiences/<id>; audiences/default = the default audience of the owner organization',
    ),
    email: help(str(), 'User or group address; input key for people and groups; not set for audiences'),
    group: help(str(), 'groups/<id>'),
    name: help(str(), 'Permission resource name'),
    person: help(str(), 'people/<id>'),
    role: help(oneOf('LABEL_ROLE_UNSPECIFIED', ...labelRoles), 'Role granted'),
  },
  [principalMembers],
);
const listLabelPermissionsResponse = schema('ListLabelPermissionsResponse', {
  labelPermissions: help(list(labelPermission), 'Permissions'),
  nextPageToken: help(str(), 'Token for the next page; absent/empty on the last page'),
});
const deleteLabelPermissionRequest = schema('DeleteLabelPermissionRequest', {
  name: req(help(str(), 'Permission resource name')),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
});
const updateLabelPermissionRequest = schema('UpdateLabelPermissionRequest', {
  labelPermission: req(help(labelPermission, 'Permission to create or change')),
  parent: requireField(help(str(), 'labels/<id>; must be empty or match the batch parent')),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
});
const batchDeleteLabelPermissionsRequest = schema('BatchDeleteLabelPermissionsRequest', {
  requests: req(help(list(deleteLabelPermissionRequest), 'Permissions to delete')),
  useAdminAccess: help(bool(), 'Admin flag for all; each entry must leave it empty or repeat it'),
});
const batchUpdateLabelPermissionsRequest = schema('BatchUpdateLabelPermissionsRequest', {
  requests: req(help(list(updateLabelPermissionRequest), 'Permissions to create or change')),
  useAdminAccess: help(bool(), 'Admin flag for all; each entry must leave it empty or repeat it'),
});
const batchUpdateLabelPermissionsResponse = schema('BatchUpdateLabelPermissionsResponse', {
  permissions: help(list(labelPermission), 'Resulting permissions, same order as the requests'),
});

/** spec/labels#schemas LabelPermission: at most one principal. */
const exclusive = [principalMembers];
const columns = ['name', 'role', 'email', 'person', 'group', 'audience'];
/** What the permissions below a label and those below a revision differ in: how they are named. */
type Parent = {
  readonly name: typeof labelName;
  readonly permission: typeof permissionName;
  /** The pattern in a path, and the same words as the start of operation ids and command lines. */
  readonly pattern: string;
  readonly id: string;
  readonly command: string;
  /** The revision as it appears in commands. */
  readonly revision: string;
  readonly summary: (text: string) => string;
};
/** Data that most rows share. An example consists of a verb and the arguments after the label. */
const shareParts = (parent: Parent) => ({
  cites: 'spec/labels#permissions',
  params: { parent: parent.name },
  ok: 200 as const,
  line: (verb: string, more: string): string =>
    `opsctl labels ${parent.command}permissions ${verb} Contract${parent.revision}${more}`,
});
/** Both set one permission: they insert or replace by principal (spec/labels#permissions-4). */
const setting = (parent: Parent) => {
  const { cites, params, ok } = shareParts(parent);
  return {
    path: `/{parent=${parent.pattern}}/permissions`,
    cites,
    params,
    query: adminQuery,
    body: labelPermission.fields,
    exclusive,
    bodyName: 'LabelPermission',
    ok,
    returns: labelPermission,
  };
};
const settingRows = (parent: Parent) => {
  const { line } = shareParts(parent);
  const reader = ' --email reader@example.com --role';
  return {
    update: op({
      ...setting(parent),
      method: 'PATCH',
      id: `${parent.id}.updatePermissions`,
      summary: parent.summary('Set the permission of one principal'),
      cli: { columns, examples: [line('update', `${reader} APPLIER`)] },
    }),
    create: op({
      ...setting(parent),
      method: 'POST',
      id: `${parent.id}.permissions.create`,
      summary: parent.summary('Create or replace the permission of a principal'),
      cli: { columns, examples: [line('create', `${reader} READER`)] },
    }),
  };
};
const batchRows = (parent: Parent) => {
  const { cites, params, ok, line } = shareParts(parent);
  const requests = ` --requests '[{"labelPermission": {"group": "groups/1", "role": "READER"}}]'`;
  return {
    batchDelete: op({
      method: 'POST',
      path: `/{parent=${parent.pattern}}/permissions:batchDelete`,
      id: `${parent.id}.permissions.batchDelete`,
      summary: parent.summary('Delete several permissions atomically'),
      cites,
      params,
      body: batchDeleteLabelPermissionsRequest.fields,
      bodyName: 'BatchDeleteLabelPermissionsRequest',
      ok,
      returns: empty,
      cli: { verb: 'batch-delete' },
    }),
    batchUpdate: op({
      method: 'POST',
      path: `/{parent=${parent.pattern}}/permissions:batchUpdate`,
      id: `${parent.id}.permissions.batchUpdate`,
      summary: parent.summary('Set several permissions atomically'),
      cites,
      params,
      body: batchUpdateLabelPermissionsRequest.fields,
      bodyName: 'BatchUpdateLabelPermissionsRequest',
      ok,
      returns: batchUpdateLabelPermissionsResponse,
      cli: { verb: 'batch-update', examples: [line('batch-update', requests)] },
    }),
  };
};
const readAndDeleteRows = (parent: Parent) => {
  const { cites, params, ok, line } = shareParts(parent);
  const deleteLine = `opsctl labels ${parent.command}permissions delete Contract reader@example.com${parent.revision} --yes`;
  return {
    delete: op({
      method: 'DELETE',
      path: `/{name=${parent.pattern}/permissions/*}`,
      id: `${parent.id}.permissions.delete`,
      summary: parent.summary('Delete a permission'),
      cites,
      params: { name: parent.permission },
      query: adminQuery,
      ok,
      returns: empty,
      cli: { confirm: 'Delete {name}?', examples: [deleteLine] },
    }),
    list: op({
      method: 'GET',
      path: `/{parent=${parent.pattern}}/permissions`,
      id: `${parent.id}.permissions.list`,
      summary: parent.summary('List permissions'),
      cites,
      params,
      query: { ...pageQuery(50), ...adminQuery },
      ok,
      returns: listLabelPermissionsResponse,
      cli: { columns, examples: [line('list', '')] },
    }),
  };
};
/** The seven methods, once for both parents. */
const permissionRows = (parent: Parent) => {
  const { update, create } = settingRows(parent);
  return { update, ...batchRows(parent), create, ...readAndDeleteRows(parent) } satisfies Resource;
};
/** spec/labels#permissions, of a label as a whole. */
export const permissions = permissionRows({
  name: labelName,
  permission: permissionName,
  pattern: 'labels/*',
  id: 'labels',
  command: '',
  revision: '',
  summary: (text) => text,
});
/** spec/labels#permissions, including those under a revision: the same data, with a revision in the path. */
export const revisionPermissions = permissionRows({
  name: revisionName,
  permission: revisionPermissionName,
  pattern: 'labels/*/revisions/*',
  id: 'labels.revisions',
  command: 'revisions ',
  revision: ' latest',
  summary: (text) => `${text} of a label revision`,
});

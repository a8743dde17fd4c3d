// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: permissions and their batches.
import { bool, help, list, oneOf, req, str } from '../../core/field.ts';
import { needed, schema } from './wire.ts';
import { labelRoles, principalMembers } from './words.ts';

export const labelPermission = schema(
  'LabelPermission',
  {
    audience: help(str(), 'audiences/<id>; audiences/default = the owner org default audience'),
    email: help(str(), 'User or group address; input key for people and groups; not set for audiences'),
    group: help(str(), 'groups/<id>'),
    name: help(str(), 'Permission resource name'),
    person: help(str(), 'people/<id>'),
    role: help(oneOf('LABEL_ROLE_UNSPECIFIED', ...labelRoles), 'Role granted'),
  },
  [principalMembers],
);
export const listLabelPermissionsResponse = schema('ListLabelPermissionsResponse', {
  labelPermissions: help(list(labelPermission), 'Permissions'),
  nextPageToken: help(str(), 'Token for the next page; absent/empty on the last page'),
});
const deleteLabelPermissionRequest = schema('DeleteLabelPermissionRequest', {
  name: req(help(str(), 'Permission resource name')),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
});
const updateLabelPermissionRequest = schema('UpdateLabelPermissionRequest', {
  labelPermission: req(help(labelPermission, 'Permission to create or change')),
  parent: needed(help(str(), 'labels/<id>; must be empty or match the batch parent')),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
});
export const batchDeleteLabelPermissionsRequest = schema('BatchDeleteLabelPermissionsRequest', {
  requests: req(help(list(deleteLabelPermissionRequest), 'Permissions to delete')),
  useAdminAccess: help(bool(), 'Admin flag for all; each entry must leave it empty or repeat it'),
});
export const batchUpdateLabelPermissionsRequest = schema('BatchUpdateLabelPermissionsRequest', {
  requests: req(help(list(updateLabelPermissionRequest), 'Permissions to create or change')),
  useAdminAccess: help(bool(), 'Admin flag for all; each entry must leave it empty or repeat it'),
});
export const batchUpdateLabelPermissionsResponse = schema('BatchUpdateLabelPermissionsResponse', {
  permissions: help(list(labelPermission), 'Resulting permissions, same order as the requests'),
});

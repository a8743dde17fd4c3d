import { bool, help, oneOf, req, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { empty } from './values.ts';
import { deltaUpdateLabelRequest } from './delta.ts';
import { deltaUpdateLabelResponse } from './delta-response.ts';
import {
  disableLabelRequest,
  enableLabelRequest,
  label,
  listLabelsResponse,
  publishLabelRequest,
  updateLabelCopyModeRequest,
  updateLabelEnabledAppSettingsRequest,
} from './label.ts';
import { adminQuery, labelName, languageQuery, pageQuery, viewQuery } from './wire.ts';
import { labelRoles } from './words.ts';

const params = { name: labelName };
const columns = ['id', 'properties.title', 'labelType', 'lifecycle.state', 'revisionId'];

/** spec/labels#labels. */
export const labels = {
  create: op({
    method: 'POST',
    path: '/labels',
    id: 'labels.create',
    summary: 'Create a label',
    cites: 'spec/labels#labels',
    query: { ...languageQuery, ...adminQuery },
    body: {
      ...label.fields,
      labelType: req(label.fields.labelType),
      properties: req(label.fields.properties),
    },
    bodyName: 'Label',
    ok: 200,
    returns: label,
    cli: { columns, examples: ['opsctl labels create --label-type SHARED --title Invoice'] },
  }),
  list: op({
    method: 'GET',
    path: '/labels',
    id: 'labels.list',
    summary: 'List labels',
    cites: 'spec/labels#labels',
    query: {
      customer: help(str(), "Whose labels: customers/<id>; default: the caller's own"),
      ...languageQuery,
      minimumRole: help(
        {
          ...oneOf('LABEL_ROLE_UNSPECIFIED', ...labelRoles),
          default: 'READER',
        } as const,
        'Only labels on which the caller has this role',
      ),
      ...pageQuery(50),
      publishedOnly: help(
        { ...bool(), default: false } as const,
        'Published revisions, disabled labels included; current revisions otherwise',
      ),
      ...adminQuery,
      ...viewQuery,
    },
    ok: 200,
    returns: listLabelsResponse,
    cli: { columns, examples: ['opsctl labels list --view LABEL_VIEW_FULL -o json'] },
  }),
  get: op({
    method: 'GET',
    path: '/{name=labels/*}',
    id: 'labels.get',
    summary: 'Show a label',
    cites: 'spec/labels#labels',
    params,
    query: { ...languageQuery, ...adminQuery, ...viewQuery },
    ok: 200,
    returns: label,
    cli: {
      columns,
      examples: ['opsctl labels get Contract', "opsctl labels get 'Project phase@published' -o yaml"],
    },
  }),
  delete: op({
    method: 'DELETE',
    path: '/{name=labels/*}',
    id: 'labels.delete',
    summary: 'Delete a label and everything it left on items, for good',
    cites: 'spec/labels#labels',
    params,
    query: {
      ...adminQuery,
      'writeControl.requiredRevisionId': help(str(), 'Refuse unless this is the latest revision'),
    },
    ok: 200,
    returns: empty,
    cli: {
      confirm: 'Delete {name}? The label and its values on every item are removed for good.',
      examples: ['opsctl labels delete Sensitivity --yes'],
    },
  }),
  delta: op({
    method: 'POST',
    path: '/{name=labels/*}:delta',
    id: 'labels.delta',
    summary: 'Apply edits, all or none, which makes a draft revision',
    cites: 'spec/labels#labels',
    params,
    body: deltaUpdateLabelRequest.fields,
    bodyName: 'DeltaUpdateLabelRequest',
    ok: 200,
    returns: deltaUpdateLabelResponse,
    cli: {
      examples: [
        `opsctl labels delta Contract --requests '[{"updateLabel": {"properties": {"title": "Agreement"}, "updateMask": "title"}}]'`,
      ],
    },
  }),
  publish: op({
    method: 'POST',
    path: '/{name=labels/*}:publish',
    id: 'labels.publish',
    summary: 'Publish all draft changes of a label',
    cites: 'spec/labels#labels',
    params,
    body: publishLabelRequest.fields,
    bodyName: 'PublishLabelRequest',
    ok: 200,
    returns: label,
    cli: { columns },
  }),
  disable: op({
    method: 'POST',
    path: '/{name=labels/*}:disable',
    id: 'labels.disable',
    summary: 'Disable a published label',
    cites: 'spec/labels#labels',
    params,
    body: disableLabelRequest.fields,
    bodyName: 'DisableLabelRequest',
    ok: 200,
    returns: label,
    cli: {
      columns,
      examples: [`opsctl labels disable 'Project phase' --disabled-policy '{"showInApply": true}'`],
    },
  }),
  enable: op({
    method: 'POST',
    path: '/{name=labels/*}:enable',
    id: 'labels.enable',
    summary: 'Enable a disabled label, back to its published state',
    cites: 'spec/labels#labels',
    params,
    body: enableLabelRequest.fields,
    bodyName: 'EnableLabelRequest',
    ok: 200,
    returns: label,
    cli: { columns, examples: ['opsctl labels enable Retention'] },
  }),
  updateLabelCopyMode: op({
    method: 'POST',
    path: '/{name=labels/*}:updateLabelCopyMode',
    id: 'labels.updateLabelCopyMode',
    summary: 'Set what happens to the values when an item is copied; at once, without a revision',
    cites: 'spec/labels#labels',
    params,
    body: updateLabelCopyModeRequest.fields,
    bodyName: 'UpdateLabelCopyModeRequest',
    ok: 200,
    returns: label,
    cli: {
      verb: 'update-copy-mode',
      columns,
      examples: ['opsctl labels update-copy-mode Contract --copy-mode DO_NOT_COPY'],
    },
  }),
  updateLabelEnabledAppSettings: op({
    method: 'POST',
    path: '/{name=labels/*}:updateLabelEnabledAppSettings',
    id: 'labels.updateLabelEnabledAppSettings',
    summary: 'Set the apps in which the label may be used; at once, without a revision',
    cites: 'spec/labels#labels',
    params,
    body: updateLabelEnabledAppSettingsRequest.fields,
    bodyName: 'UpdateLabelEnabledAppSettingsRequest',
    ok: 200,
    returns: label,
    cli: {
      verb: 'update-enabled-app-settings',
      columns,
      examples: [
        `opsctl labels update-enabled-app-settings Contract --enabled-app-settings '{"enabledApps": [{"app": "FILES"}]}'`,
      ],
    },
  }),
} as const satisfies Resource;

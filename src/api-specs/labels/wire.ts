import {
  type Field,
  type Fields,
  type ObjectField,
  help,
  int,
  num,
  obj,
  oneOf,
  req,
  str,
} from '../../core/field.ts';
import { copyModes } from './words.ts';

/** A named JSON object. Any member may be absent, in an answer as well (spec/labels#errors: defaults may be left out, `fields` narrows). */
export const schema = <const O extends Fields>(
  name: string,
  fields: O,
  exclusive?: ObjectField['exclusive'],
) =>
  obj(fields, exclusive === undefined ? { name } : { name, exclusive }) as {
    type: 'object';
    fields: O;
    name: string;
  };
export const int32 = () => int({ format: 'int32' });
export const float = () => num({ format: 'float' });
/** spec/labels#errors: 64-bit numbers are text on the way out, text or number on the way in. */
export const int64 = () => str(undefined, { format: 'int64' });
/** spec/labels#parameters: `title,description`, or `*` for every field. */
export const fieldMask = () => str(undefined, { format: 'fieldmask' });
/** Real deployments have more words than the documents; unknown ones pass through. */
export const openEnum = <const E extends readonly string[]>(...values: E) =>
  str(undefined, { enum: values, open: true });
export const onlyIn = <const F extends Field>(field: F) =>
  ({ ...field, inputOnly: true }) as F & { inputOnly: true };
export const needed = <const F extends Field>(field: F) =>
  ({ ...field, needed: true }) as F & { needed: true };

export const labelView = oneOf('LABEL_VIEW_BASIC', 'LABEL_VIEW_FULL');
export const copyMode = oneOf('COPY_MODE_UNSPECIFIED', ...copyModes);

/** spec/labels#parameters, path parameter patterns. */
const name = (pattern: string, summary: string) => req(help(str(undefined, { pattern }), summary));
export const labelName = name(
  '^labels/[^/]+$',
  'The label: labels/<id>, labels/<id>@latest, @published or @<revision>',
);
export const revisionName = name(
  '^labels/[^/]+/revisions/[^/]+$',
  'The revision: labels/<id>/revisions/<revision>',
);
export const permissionName = name(
  '^labels/[^/]+/permissions/[^/]+$',
  'The permission: labels/<id>/permissions/<id>',
);
export const revisionPermissionName = name(
  '^labels/[^/]+/revisions/[^/]+/permissions/[^/]+$',
  'The permission: labels/<id>/revisions/<revision>/permissions/<id>',
);
export const capabilitiesName = name(
  '^users/[^/]+/capabilities$',
  'users/me/capabilities, or users/<id>/capabilities',
);

/** spec/labels#parameters, query parameters shared by several methods. */
export const adminQuery = {
  useAdminAccess: help({ type: 'boolean', default: false } as const, 'Act with admin rights on the label'),
};
export const languageQuery = { languageCode: help(str(), 'BCP-47 tag of the names in the answer') };
export const viewQuery = {
  view: help({ ...labelView, default: 'LABEL_VIEW_BASIC' } as const, 'Which fields the answer carries'),
};
export const pageQuery = (standard: number) => ({
  pageSize: help(
    { type: 'integer', format: 'int32', min: 0, default: standard } as const,
    `Entries a page (default ${standard}), at most 200`,
  ),
  pageToken: help(str(), 'Token of the page, from the answer before'),
});

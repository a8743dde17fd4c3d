import { bool, help, oneOf, str } from '../../core/field.ts';

/** spec/labels#parameters "system parameters": every method takes them. */
export const systemQuery = {
  '$.xgafv': help(oneOf('1', '2'), 'Form of the errors: 1 is the older one'),
  access_token: help(str(), 'The access token, when it is not in the Authorization header'),
  alt: help({ ...oneOf('json', 'media', 'proto'), default: 'json' } as const, 'Format of the answer'),
  callback: help(str(), 'Name of the function that the answer is handed to'),
  fields: help(str(), 'Members of the answer that are wanted: labels(id,properties/title),nextPageToken'),
  key: help(str(), 'Key of the calling project'),
  oauth_token: help(str(), 'The same as access_token'),
  prettyPrint: help({ ...bool(), default: true } as const, 'Answers with line breaks and indents'),
  quotaUser: help(str(), 'Whose quota counts, at most 40 characters'),
  uploadType: help(str(), 'Of uploads, which this service does not have'),
  upload_protocol: help(str(), 'Of uploads, which this service does not have'),
} as const;

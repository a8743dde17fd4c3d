export { parseDocument, stringify } from 'yaml';

export { LineCounter, isCollection, isNode, parseDocument, stringify } from 'yaml';

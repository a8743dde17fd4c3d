// Static name for a CommonJS package: a lazy import of it would only have `default`.
export { stringify } from 'yaml';

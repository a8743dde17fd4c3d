// Static name for a CommonJS package: behind esbuild's splitting a lazy import of it would only have `default`.
export { parse, stringify } from 'yaml';

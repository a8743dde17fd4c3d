// Static names for a CommonJS package: behind the bundler's splitting a lazy import of it would only have `default`.
export {
  type Document as YamlDocument,
  LineCounter,
  isMap,
  isNode,
  isScalar,
  isSeq,
  parseAllDocuments,
} from 'yaml';

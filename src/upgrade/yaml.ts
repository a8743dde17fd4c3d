/** The package is CommonJS: this static re-export keeps its names when it is imported lazily. */
export { isMap, isScalar, parseDocument, stringify } from 'yaml';

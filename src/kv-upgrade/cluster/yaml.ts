/** The package is CommonJS: this static re-export keeps its names when it is imported lazily. */
export { LineCounter, isMap, isScalar, parseDocument, stringify } from 'yaml';

// Static name for the package, so that it is loaded only when a bundle is made.
export { createTarGzip } from 'nanotar';

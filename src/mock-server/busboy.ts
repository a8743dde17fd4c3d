// A CommonJS package keeps its names through a static re-export only.
export { Busboy } from '@fastify/busboy';

// A CommonJS package keeps its names through a static re-export only.
export { default as busboy } from '@fastify/busboy';

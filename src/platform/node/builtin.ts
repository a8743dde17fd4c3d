/**
 * Built-in modules that are costly to import with ESM syntax: `import 'node:http'` evaluates every named export and
 * with them the built-in undici (40 ms on Node 22 and later); this way the module alone is loaded.
 */
export const builtin = {
  get http() {
    return process.getBuiltinModule('node:http');
  },
  get https() {
    return process.getBuiltinModule('node:https');
  },
  get http2() {
    return process.getBuiltinModule('node:http2');
  },
  get net() {
    return process.getBuiltinModule('node:net');
  },
  get tls() {
    return process.getBuiltinModule('node:tls');
  },
  get stream() {
    return process.getBuiltinModule('node:stream');
  },
  get crypto() {
    return process.getBuiltinModule('node:crypto');
  },
  get childProcess() {
    return process.getBuiltinModule('node:child_process');
  },
  get readline() {
    return process.getBuiltinModule('node:readline');
  },
  get tty() {
    return process.getBuiltinModule('node:tty');
  },
  get os() {
    return process.getBuiltinModule('node:os');
  },
  get vm() {
    return process.getBuiltinModule('node:vm');
  },
  get v8() {
    return process.getBuiltinModule('node:v8');
  },
} as const;

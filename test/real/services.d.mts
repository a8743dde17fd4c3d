type Missing = { readonly missing: string };
type Env = Readonly<Record<string, string>>;
export declare const realPrometheus: () => { readonly server: string; readonly promtool: string } | Missing;
export declare const realAnsible: () => { readonly playbook: readonly string[]; readonly env: Env } | Missing;
export declare const realMoto: () => { readonly server: readonly string[]; readonly env: Env } | Missing;
export declare const realRedis: () => { readonly server: string; readonly env: Env } | Missing;

type Advisory = { readonly name: string; readonly severity: string; readonly range: string };
export declare const sortAdvisories: (
  vulnerabilities: Readonly<Record<string, Advisory>>,
  bundled: ReadonlySet<string>,
) => { readonly inside: Advisory[]; readonly outside: Advisory[] };
export type Audit = {
  readonly vulnerabilities?: Readonly<Record<string, Advisory>>;
  readonly reason?: string;
};
export declare const bundledNames: () => ReadonlySet<string>;
export declare const readAudit: () => Audit;
/** The exit code is 0 for no advisory inside the program, 1 for an advisory, and 2 for an unknown state. */
export declare const reportAdvisories: (
  audit: Audit,
  bundled: ReadonlySet<string>,
) => { readonly text: string; readonly exitCode: number };

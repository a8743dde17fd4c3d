type Advisory = { readonly name: string; readonly severity: string; readonly range: string };
export declare const sortAdvisories: (
  vulnerabilities: Readonly<Record<string, Advisory>>,
  bundled: ReadonlySet<string>,
) => { readonly inside: Advisory[]; readonly outside: Advisory[] };

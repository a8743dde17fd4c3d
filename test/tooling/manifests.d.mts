type Facts = { readonly version: string; readonly license: string; readonly homepage: string };
type Where = { readonly summary: string; readonly url: string; readonly sum: string; readonly file: string };
export const formula: (facts: Facts, where: Where) => string;
export const scoopManifest: (facts: Facts, where: Where) => string;
export const installer: (facts: Pick<Facts, 'version'>, where: Omit<Where, 'summary'>) => string;

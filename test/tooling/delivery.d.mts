export const debianPackage: (from: string, to: string, seconds?: number) => string;
export const formula: (
  facts: { readonly version: string; readonly description: string; readonly license: string },
  url: string,
  sum: string,
) => string;

export const realSudo: () => { readonly tree: string } | { readonly missing: string };

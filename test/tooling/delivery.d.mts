export type PackageOptions = { readonly maintainer: string; readonly seconds: number };
type Make = (from: string, to: string, options: PackageOptions) => string;
export const debianPackage: Make;
export const rpmPackage: Make;
export const alpinePackage: Make;
export const packagers: Readonly<
  Record<'deb' | 'rpm' | 'apk', { readonly make: Make; readonly file: (version: string) => string }>
>;
export const synopsis: () => string;

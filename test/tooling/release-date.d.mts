export const releaseSeconds: (
  root: string,
  version: string,
  env?: Readonly<Record<string, string | undefined>>,
) => number;
export const dayOf: (seconds: number) => string;

export const releases: readonly { readonly minor: string; readonly suite: string }[];
export const cacheDirectory: (env?: NodeJS.ProcessEnv) => string;
export const realServers: (options?: {
  readonly env?: NodeJS.ProcessEnv;
  readonly isFetching?: boolean;
}) => any;

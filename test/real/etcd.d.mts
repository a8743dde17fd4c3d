export const cacheDirectory: (env?: NodeJS.ProcessEnv) => string;
export const realServers: (options?: {
  readonly env?: NodeJS.ProcessEnv;
  readonly isFetching?: boolean;
}) => any;

/** Set by the build. */
declare const OPSCTL_VERSION: string;

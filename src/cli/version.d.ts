/** Set by the build. */
declare const OPSCTL_VERSION: string;
/** Set by the build of the single executable alone. */
declare const OPSCTL_SINGLE_EXECUTABLE: true | undefined;

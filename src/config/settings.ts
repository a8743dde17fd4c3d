/** One setting with the place it came from: `flag --tracker-url`, `environment OPSCTL_TRACKER_URL`, `profile work`, `default`. */
export type Setting = { readonly key: string; readonly value: string; readonly origin: string };

/** What to type so that this setting no longer counts. */
export const removalOf = ({ key, origin }: Setting): string => {
  const [from, name] = origin.split(' ');
  if (from === 'environment') return `unset ${name}`;
  if (from === 'flag') return `leave ${name} out`;
  return `opsctl config unset ${key} --profile ${name}`;
};

export type Directories = {
  readonly config: string;
  readonly state: string;
  readonly cache: string;
  /** Runs of cluster upgrades and their locks. They belong to no profile: a resume at night must find them whatever profile is set. */
  readonly clusters: string;
};
export type Settings = {
  /** `isNew`: named, but not in the configuration file. */
  readonly profile: { readonly name: string; readonly origin: string; readonly isNew?: boolean };
  /** Flag > environment > profile > default; undefined when no place sets it. */
  get(key: string): Setting | undefined;
  /** Directories of this profile's configuration, state and cache; absolute. */
  readonly directories: Directories;
  /** Names of all profiles, the built-in one among them. */
  readonly profiles: readonly string[];
};

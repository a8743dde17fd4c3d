export function seedOfRun(env?: Readonly<Record<string, string | undefined>>): string;

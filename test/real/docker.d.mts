export const realDocker: () => { directories: string[] } | { missing: string };

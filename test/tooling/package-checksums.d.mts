export const checksumsText: (root: string) => string;

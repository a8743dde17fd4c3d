export declare const nextVersion: (current: string, word: string) => string;

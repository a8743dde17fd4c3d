export declare const cachedNode: (major: number) => string | undefined;
export declare const nodeOf: (major: number) => string | undefined;
export declare const whyNotNode: (major: number) => string | undefined;

export declare const derivedPages: readonly string[];
export declare function joinPages(root: string): string;
export declare function splitPages(text: string): Record<string, string>;

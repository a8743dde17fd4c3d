type Row = readonly [what: string, command: string, peer: string, file: string, title: string];
export declare const kvRows: readonly Row[];
export declare const kvComparison: () => string;

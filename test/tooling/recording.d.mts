export declare const framesOf: (raw: string) => string[][];
export declare const scenes: (frames: readonly (readonly string[])[]) => (readonly string[])[];
export declare const svgOf: (frames: readonly (readonly string[])[]) => string;

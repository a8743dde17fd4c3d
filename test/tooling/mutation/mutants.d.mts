export declare const mutantsOf: (
  source: string,
) => readonly { readonly start: number; readonly end: number; readonly text: string }[];

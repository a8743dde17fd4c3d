export declare const sectionsOf: (
  text: string,
) => { readonly name: string; readonly date?: string; readonly start: number; readonly entries: number }[];
export declare const changelogProblems: (text: string, version: string) => [problem: string, way: string][];
export declare const closeChangelog: (text: string, version: string, day: string) => string;
export declare const notesOf: (text: string, version: string) => string;

type Row = readonly [
  row: string,
  command: string,
  verdict: string,
  peer: string,
  file: string,
  title: string,
];
export declare const rows: readonly Row[];
export declare const comparison: () => string;
export const leads: readonly (readonly [feature: string, tool: string, opsctl: string])[];

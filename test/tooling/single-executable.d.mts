export declare const nodeOfExecutables: 26;
export declare const singleExecutable: (parts: {
  readonly dist: string;
  readonly node: string;
  readonly to: string;
}) => Promise<void>;

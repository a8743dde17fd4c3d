/** What a run is asked to do; the names are those of its flags, which the line that resumes it repeats. */
export type BulkOptions = {
  readonly file: string;
  readonly 'input-format'?: 'ndjson' | 'csv' | undefined;
  readonly delimiter?: 'comma' | 'semicolon' | 'tab' | undefined;
  readonly resource?: string | undefined;
  readonly op?: 'create' | 'update' | 'delete' | undefined;
  readonly concurrency?: number | undefined;
  readonly 'create-labels'?: boolean | undefined;
  readonly 'create-categories'?: boolean | undefined;
  readonly resume?: boolean | undefined;
  readonly restart?: boolean | undefined;
  readonly journal?: string | undefined;
};

/** One thing that signing in depends on. `fails` makes the command end with 20; `warns` has a way context it. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warns' | 'fails';
  readonly found: string;
  readonly remedy: string;
};

export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found, remedy: '' });
export const warns = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'warns',
  found,
  remedy,
});
export const fails = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'fails',
  found,
  remedy,
});

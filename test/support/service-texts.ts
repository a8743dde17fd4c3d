import type { ShellScript } from '../../src/core/shell.ts';
import type { Script, Service } from '../../src/kv/upgrade/supervisors/driver.ts';

type Text<T> = T extends ShellScript ? string : T;
type Texts = {
  readonly [Key in keyof Service]-?: NonNullable<Service[Key]> extends (...args: infer Args) => infer Result
    ? (...args: Args) => Script extends Result ? string : Text<Result>
    : Service[Key];
};
const isScript = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && value.constructor.name === 'ShellScript';

/** Returns the service with the text of each script, for assertions. A script that first reads the host remains a function. */
export const serviceTexts = (service: Service): Texts =>
  Object.fromEntries(
    Object.entries(service).map(([key, value]) => [
      key,
      typeof value !== 'function'
        ? value
        : (...args: readonly unknown[]) => {
            const result: unknown = (value as (...args: readonly unknown[]) => unknown)(...args);
            return isScript(result) ? String(result) : result;
          },
    ]),
  ) as unknown as Texts;

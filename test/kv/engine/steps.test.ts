import { describe, expect, it } from 'vitest';
import { memberOfStep, performInOrder, recordEnd, runLocked, stepId } from '../../../src/kv/engine/steps.ts';

describe('a step ID', () => {
  it('names a member and a kind, and is read back', () => {
    expect(stepId('n2', 'move-leader')).toBe('n2.move-leader');
    expect(memberOfStep('n2.gate', 'gate')).toBe('n2');
    expect(memberOfStep('a.b.gate', 'gate')).toBe('a.b');
    expect([memberOfStep('n2.start', 'gate'), memberOfStep('confirm', 'gate')]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe('the end of a step', () => {
  const recorded = async (effect: () => Promise<Record<string, unknown> | undefined>) => {
    const lines: unknown[] = [];
    const journal = { tell: (entry: object, forced?: string) => void lines.push([entry, forced]) };
    const result = await recordEnd(journal, 'n1.stop', effect, 'with-next').catch((error: unknown) => error);
    return { lines, result };
  };
  it('the journal contains the end of a step with the result of the effect', async () => {
    const { lines, result } = await recorded(async () => ({ took_ms: 5 }));
    expect(lines).toEqual([[{ kind: 'end', step: 'n1.stop', detail: { took_ms: 5 } }, 'with-next']]);
    expect(result).toEqual({ took_ms: 5 });
    const [entry] = (await recorded(async () => undefined)).lines[0] as [object];
    expect(Object.keys(entry)).toEqual(['kind', 'step']);
  });
  it('a failing effect is recorded as a failure with its reason, and the error is rethrown', async () => {
    const broken = new Error('no ssh');
    const { lines, result } = await recorded(() => Promise.reject(broken));
    expect(lines).toEqual([[{ kind: 'failed', step: 'n1.stop', reason: 'no ssh' }, undefined]]);
    expect(result).toBe(broken);
  });
});

describe('steps in order', () => {
  const performed = async (mayAbort: readonly boolean[], abortAt: number) => {
    const stop = new AbortController();
    const done: unknown[] = [];
    const steps = mayAbort.map((_, at) => at);
    const error = await performInOrder(steps, {
      rowOf: (at) => ({ mayAbort: mayAbort[at] as boolean }),
      signal: stop.signal,
      stopReason: (at) => new Error(`before ${at}`),
      perform: async (at, _, next) => {
        done.push([at, next]);
        if (at === abortAt) stop.abort();
      },
    }).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    return { done, error };
  };
  it('end before the first one that may be left out, when the run is asked to stop', async () => {
    expect(await performed([true, false, true, true], 0)).toEqual({
      ...{ done: [[0, 1], ...[[1, 2]]], error: 'before 2' },
    });
  });
  it('steps that are not excluded are all performed', async () => {
    const done = [
      [0, 1],
      [1, undefined],
    ];
    expect(await performed([true, true], 9)).toEqual({ done, error: undefined });
    expect(await performed([true, false], 0)).toEqual({ done, error: undefined });
  });
});

describe('a run under its locks', () => {
  const run = async (failing?: string) => {
    const order: string[] = [];
    const tell = async (name: string): Promise<void> => {
      order.push(name);
      if (name === failing) throw new Error(name);
    };
    const lock = { release: () => tell('release') };
    const result = await runLocked({
      takeLocks: () => tell('take').then(() => lock),
      refuseOthers: () => tell('refuse'),
      open: () => tell('open').then(() => 'opened'),
      perform: (opened) => tell('perform').then(() => `${opened}, performed`),
      conclude: (_, ended) => tell('conclude').then(() => `${ended}, concluded`),
    }).catch(({ message }: Error) => `failed: ${message}`);
    return [order.join(' '), result];
  };
  it('refuses others before it opens its journal, and releases the locks last', async () => {
    expect(await run()).toEqual([
      'take refuse open perform conclude release',
      'opened, performed, concluded',
    ]);
  });
  it.each([
    ['take', 'take'],
    ['refuse', 'take refuse release'],
    ['open', 'take refuse open release'],
    ['perform', 'take refuse open perform release'],
    ['conclude', 'take refuse open perform conclude release'],
  ])('whose part "%s" fails releases what it took', async (failing, order) => {
    expect(await run(failing)).toEqual([order, `failed: ${failing}`]);
  });
});

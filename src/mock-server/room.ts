/** Work that holds memory: what does not fit beside the rest waits for its turn. One piece larger than everything goes alone. */
export type Room = <T>(bytes: number, act: () => Promise<T>) => Promise<T>;

export const makeRoom = (limitBytes: number): Room => {
  const waiting: { readonly bytes: number; readonly enter: () => void }[] = [];
  let taken = 0;
  const letIn = (): void => {
    for (
      let first = waiting[0];
      first && (taken === 0 || taken + first.bytes <= limitBytes);
      first = waiting[0]
    ) {
      waiting.shift();
      taken += first.bytes;
      first.enter();
    }
  };
  return async (bytes, act) => {
    await new Promise<void>((enter) => {
      waiting.push({ bytes, enter });
      letIn();
    });
    try {
      return await act();
    } finally {
      taken -= bytes;
      letIn();
    }
  };
};

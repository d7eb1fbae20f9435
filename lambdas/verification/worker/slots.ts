/** How many calls a destination may have at once in this process, so that one that hangs leaves the others room. */

export type Slots = {
  /** A slot until it is given back by calling; undefined where all are taken. */
  take(): (() => void) | undefined;
  /** Whether less than half of them are taken: then a call may wait at the destination for news. */
  isIdle(): boolean;
};

export function createSlots({ max }: { max: number }): Slots {
  let taken = 0;
  return {
    take() {
      if (taken >= max) return undefined;
      taken += 1;
      return () => {
        taken -= 1;
      };
    },
    isIdle: () => taken * 2 <= max,
  };
}

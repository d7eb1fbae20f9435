/** Random numbers that a seed repeats (mulberry32). */

export type Random = {
  /** A whole number from 0 up to, but not, `limit`. */
  upTo(limit: number): number;
  oneOf<T>(choices: readonly [T, ...T[]]): T;
  chance(probability: number): boolean;
};

export function createRandom({ seed }: { seed: number }): Random {
  let state = seed | 0;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const upTo = (limit: number) => Math.floor(next() * limit);
  return {
    upTo,
    oneOf: (choices) => choices[upTo(choices.length)] ?? choices[0],
    chance: (probability) => next() < probability,
  };
}

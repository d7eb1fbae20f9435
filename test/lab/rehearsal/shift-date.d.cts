/** Sets how far `Date` is ahead of the machine. A smaller value than before has no effect. */
export function setOffset(ms: number): void;

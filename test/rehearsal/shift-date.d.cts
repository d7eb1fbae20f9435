/** `Date` is this much ahead of the machine from now on, unless it is already more. */
export function setOffset(ms: number): void;

/** A value as it is after it was written as JSON and read again. */
export function wire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

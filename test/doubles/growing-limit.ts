/** A time limit that a slow machine does not break: a test tries a longer one until what it prepared was in time. */

const maxDoublings = 7;

/** Calls `attempt` with `firstMs` and then twice the time, until `isFair` is true for the result. Resolves to the last result. */
export async function withGrowingLimit<Result>(request: {
  firstMs: number;
  attempt: (limitMs: number) => Promise<Result>;
  isFair: (result: Result) => boolean;
}): Promise<Result> {
  const { firstMs, attempt, isFair } = request;
  for (let doublings = 0; ; doublings += 1) {
    const result = await attempt(firstMs * 2 ** doublings);
    if (isFair(result) || doublings === maxDoublings) return result;
  }
}

/** The limit of concurrent invocations, which all functions of an account share. */
import type { LambdaFunction } from "../template/wiring.ts";

/** The limit of a new account: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const newAccountLimit = 10;

export type Concurrency = ReturnType<typeof createConcurrency>;

/** Each account has its own limit in each region. `reserved`, by function ARN, is set apart from what the others share. */
export function createConcurrency({
  limit = newAccountLimit,
  reserved = {},
}: {
  limit?: number;
  reserved?: Readonly<Record<string, number>>;
} = {}) {
  const underWay = new Map<string, number>();
  const peaks = new Map<string, number>();
  const add = (pool: string, change: number) => {
    const count = (underWay.get(pool) ?? 0) + change;
    underWay.set(pool, count);
    return count;
  };
  const placeOf = (arn: string) => arn.split(":").slice(3, 5).join(":");
  const reservedIn = (place: string) =>
    Object.entries(reserved).reduce(
      (sum, [arn, count]) => sum + (placeOf(arn) === place ? count : 0),
      0,
    );

  return {
    /** Counts an invocation until the returned function is called. Returns undefined where Lambda throttles it. */
    enter({
      arn,
      account,
      region,
    }: Pick<LambdaFunction, "arn" | "account" | "region">): (() => void) | undefined {
      const place = `${region}:${account}`;
      const own = reserved[arn];
      const pool = own === undefined ? place : arn;
      const most = own ?? limit - reservedIn(place);
      if ((underWay.get(pool) ?? 0) >= most) return undefined;
      const count = add(pool, 1);
      peaks.set(account, Math.max(count, peaks.get(account) ?? 0));
      let isIn = true;
      return () => {
        if (isIn) add(pool, -1);
        isIn = false;
      };
    },
    /** Returns the number of an account's current invocations. */
    underWay: (account: string) =>
      [...underWay].reduce(
        (sum, [pool, count]) => sum + (pool.split(":").includes(account) ? count : 0),
        0,
      ),
    /** Returns the highest number of concurrent invocations that an account had. */
    peak: (account: string) => peaks.get(account) ?? 0,
  };
}

/** Returns the reserved concurrency of the templates by function ARN. */
export function reservedConcurrency(functions: readonly LambdaFunction[]): Record<string, number> {
  return Object.fromEntries(
    functions.flatMap(({ arn, reservedConcurrency: count }) =>
      count === undefined ? [] : [[arn, count]],
    ),
  );
}

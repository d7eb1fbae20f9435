/** How many invocations of an account may be under way at once: all of its functions share the limit. */
import type { LambdaFunction } from "../template/wiring.ts";

/** New accounts start with this limit. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const newAccountLimit = 10;
/** PutFunctionConcurrency fails where it would leave fewer: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionConcurrency.html */
const leastUnreserved = 100;

export type Concurrency = {
  /** Counts an invocation until the returned function is called. Undefined: Lambda throttles it. */
  enter(fn: Pick<LambdaFunction, "arn" | "account" | "region">): (() => void) | undefined;
  /** Of an account. */
  underWay(account: string): number;
  /** The highest number of invocations that were under way at once in an account. */
  peak(account: string): number;
};

/** Each account has its own limit in each region. `reserved` is by function ARN; it is set apart from what the others share. */
export function createConcurrency({
  limit = newAccountLimit,
  reserved = {},
}: {
  limit?: number;
  reserved?: Readonly<Record<string, number>>;
} = {}): Concurrency {
  const underWay = new Map<string, number>();
  const peaks = new Map<string, number>();
  const add = (pool: string, change: number) => {
    const count = (underWay.get(pool) ?? 0) + change;
    underWay.set(pool, count);
    return count;
  };
  const placeOf = (arn: string) => arn.split(":").slice(3, 5).join(":");
  const reservedIn = (place: string) =>
    Object.entries(reserved).reduce((sum, [arn, count]) => sum + (placeOf(arn) === place ? count : 0), 0);

  return {
    enter({ arn, account, region }) {
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
    underWay: (account) =>
      [...underWay].reduce((sum, [pool, count]) => sum + (pool.split(":").includes(account) ? count : 0), 0),
    peak: (account) => peaks.get(account) ?? 0,
  };
}

/** The reserved concurrency of the templates, by function ARN. */
export function reservedConcurrency(functions: readonly LambdaFunction[]): Record<string, number> {
  return Object.fromEntries(
    functions.flatMap(({ arn, reservedConcurrency: count }) => (count === undefined ? [] : [[arn, count]])),
  );
}

/** A deploy that reserves more than the account can spare fails. */
export function reservationProblems({
  functions,
  limit = newAccountLimit,
}: {
  functions: readonly LambdaFunction[];
  limit?: number;
}): string[] {
  return functions.flatMap(({ label, account, reservedConcurrency: own }) => {
    if (own === undefined) return [];
    const all = functions
      .filter((fn) => fn.account === account)
      .reduce((sum, fn) => sum + (fn.reservedConcurrency ?? 0), 0);
    if (limit - all >= leastUnreserved) return [];
    return [
      `${label} reserves a concurrency of ${own}: an account with a limit of ${limit} would have less than ${leastUnreserved} unreserved.`,
    ];
  });
}

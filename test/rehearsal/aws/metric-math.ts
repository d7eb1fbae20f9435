/** Metric math, as far as alarms here use it: numbers, series, arithmetic, comparisons, AND, OR, IF and FILL. Anything else throws. */

/** Values by the start of their period, or one value for all periods. */
export type Series = ReadonlyMap<number, number> | number;

/**
 * FILL fills each of `periods`, the latest too, whose value CloudWatch may only be late with; without them, each period that any
 * series has. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export function evaluateMath(
  expression: string,
  series: Readonly<Record<string, Series>>,
  periods: readonly number[] = periodsOf(series),
): Series {
  const tokens = expression.match(/\s*(?:\d+(?:\.\d+)?|[A-Za-z_]\w*|[<>=!]=|&&|\|\||[-+*/(),<>])/g) ?? [];
  const words = tokens.map((token) => token.trim());
  if (words.join("") !== expression.replace(/\s/g, "")) throw unknown(expression);
  let at = 0;
  const accept = (...wanted: string[]) => (wanted.includes(words[at] ?? "") ? words[at++] : undefined);
  const expect = (wanted: string) => {
    if (accept(wanted) === undefined) throw unknown(expression);
  };

  /** Operators that bind equally, the loosest first. */
  const levels = [
    ["OR", "||"],
    ["AND", "&&"],
    ["==", "!=", "<", ">", "<=", ">="],
    ["+", "-"],
    ["*", "/"],
  ];

  function operation(level: number): Series {
    const operators = levels[level];
    if (operators === undefined) return operand();
    let left = operation(level + 1);
    for (let operator = accept(...operators); operator !== undefined; operator = accept(...operators)) {
      const apply = binary[operator];
      if (apply === undefined) throw unknown(expression);
      left = combine([left, operation(level + 1)], ([a = 0, b = 0]) => apply(a, b));
    }
    return left;
  }

  function operand(): Series {
    if (accept("(") !== undefined) {
      const inner = operation(0);
      expect(")");
      return inner;
    }
    if (accept("-") !== undefined) return combine([operand()], ([a = 0]) => -a);
    const word = words[at++] ?? "";
    if (/^\d/.test(word)) return Number(word);
    if (accept("(") !== undefined) {
      const args = [operation(0)];
      while (accept(",") !== undefined) args.push(operation(0));
      expect(")");
      return call(word, args, expression, periods);
    }
    const found = series[word];
    if (found === undefined) throw unknown(expression);
    return found;
  }

  const result = operation(0);
  if (at !== words.length) throw unknown(expression);
  return result;
}

function periodsOf(series: Readonly<Record<string, Series>>): number[] {
  return Object.values(series).flatMap((each) => (typeof each === "number" ? [] : [...each.keys()]));
}

function call(name: string, args: Series[], expression: string, periods: readonly number[]): Series {
  const [first = 0, second = 0] = args;
  if (name === "IF" && args.length === 3) return combine(args, ([test, yes = 0, no = 0]) => (test ? yes : no));
  if (name === "FILL" && args.length === 2 && typeof first !== "number" && typeof second === "number")
    return new Map(periods.map((startMs) => [startMs, first.get(startMs) ?? second]));
  throw unknown(expression);
}

/** Only periods for which every series has a value have a result. */
function combine(all: readonly Series[], apply: (values: number[]) => number): Series {
  const maps = all.filter((each) => typeof each !== "number");
  if (maps.length === 0) return apply(all.map(Number));
  const periods = [...(maps[0]?.keys() ?? [])].filter((startMs) => maps.every((map) => map.has(startMs)));
  const at = (series: Series, startMs: number) => (typeof series === "number" ? series : (series.get(startMs) ?? 0));
  return new Map(periods.map((startMs) => [startMs, apply(all.map((series) => at(series, startMs)))]));
}

const binary: Record<string, (a: number, b: number) => number> = {
  OR: (a, b) => Number(a !== 0 || b !== 0),
  "||": (a, b) => Number(a !== 0 || b !== 0),
  AND: (a, b) => Number(a !== 0 && b !== 0),
  "&&": (a, b) => Number(a !== 0 && b !== 0),
  "==": (a, b) => Number(a === b),
  "!=": (a, b) => Number(a !== b),
  "<": (a, b) => Number(a < b),
  ">": (a, b) => Number(a > b),
  "<=": (a, b) => Number(a <= b),
  ">=": (a, b) => Number(a >= b),
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

function unknown(expression: string): Error {
  return new Error(`The rehearsal does not know the metric math of ${expression}.`);
}

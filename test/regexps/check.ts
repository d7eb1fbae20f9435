/**
 * Finds regular expressions that a text could hold for polynomial or exponential time. One whose input is bounded stands in
 * `allowed.json` with that bound.
 */
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { checkSync } from "recheck";

const root = join(import.meta.dirname, "../..");

/** `pattern` is the source of the expression, or the code that makes it. */
export type Allowed = { file: string; pattern: string; bound: string };
type Expression = { file: string; line: number; source: string; flags: string };
/** An expression that is made in a function, or whose source is not known before the module runs. */
type Construction = { file: string; line: number; code: string; isInFunction: boolean };

/** Lists what is wrong, a line each, and how many expressions were seen. */
export async function checkRegexps(request: {
  sources: readonly { file: string; text: string }[];
  allowed: readonly Allowed[];
}): Promise<{ problems: string[]; count: number }> {
  const { sources, allowed } = request;
  const perFile = sources.map(readExpressions);
  const constructions = perFile.flatMap(({ constructions }) => constructions);
  const made = await recordTopLevel(constructions);
  const expressions = [...perFile.flatMap(({ literals }) => literals), ...made];
  const usedNames = new Set<Allowed>();
  const isAllowed = ({ file, pattern }: { file: string; pattern: string }) => {
    const entry = allowed.find((one) => one.file === file && one.pattern === pattern);
    if (entry !== undefined) usedNames.add(entry);
    return entry !== undefined;
  };
  const slow = expressions.flatMap(({ file, line, source, flags }) => {
    if (isAllowed({ file, pattern: source })) return [];
    const problem = describeProblem({ source, flags });
    return problem === undefined ? [] : [`${file}:${line} /${source}/${flags}: ${problem}`];
  });
  const unseen = constructions
    .filter(({ file, code, isInFunction }) => isInFunction && !isAllowed({ file, pattern: code }))
    .map(
      ({ file, line, code }) =>
        `${file}:${line} ${code}: made in a function, so it cannot be checked`,
    );
  const unused = allowed
    .filter((entry) => !usedNames.has(entry))
    .map(({ file, pattern }) => `test/regexps/allowed.json: ${file} has no ${pattern}`);
  return {
    problems: [...slow, ...unseen, ...unused],
    count: expressions.length + constructions.length,
  };
}

/** Undefined for an expression that takes linear time. The time limit only ends a search that hangs. */
function describeProblem({ source, flags }: { source: string; flags: string }): string | undefined {
  const result = checkSync(source, flags, { timeout: 600_000 });
  if (result.status === "safe") return undefined;
  return result.status === "vulnerable"
    ? result.complexity.summary
    : `not checked (${result.error.kind})`;
}

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

function readExpressions({ file, text }: { file: string; text: string }) {
  const literals: Expression[] = [];
  const constructions: Construction[] = [];
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  visit(parseSync(file, text).program, false);
  return { literals, constructions };

  function visit(value: unknown, isInFunction: boolean): void {
    if (Array.isArray(value)) for (const one of value) visit(one, isInFunction);
    if (!isNode(value)) return;
    const line = lineAt(value.start);
    const regex = value.regex as { pattern: string; flags: string } | undefined;
    if (value.type === "Literal" && regex)
      literals.push({ file, line, source: regex.pattern, flags: regex.flags });
    if (isConstruction(value)) {
      constructions.push({ file, line, code: text.slice(value.start, value.end), isInFunction });
    }
    const isFunction = /^(?:ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/.test(
      value.type,
    );
    for (const child of Object.values(value)) visit(child, isInFunction || isFunction);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function isConstruction({ type, callee }: Node): boolean {
  return (
    (type === "NewExpression" || type === "CallExpression") &&
    isNode(callee) &&
    callee.name === "RegExp"
  );
}

/** Loads the modules that make expressions at their top level, and records what they make. One may load another. */
async function recordTopLevel(constructions: readonly Construction[]): Promise<Expression[]> {
  const places = constructions.filter(({ isInFunction }) => !isInFunction);
  const recorded: Expression[] = [];
  const original = globalThis.RegExp;
  const record = (pattern: string | RegExp, flags?: string) => {
    const made = new original(pattern, flags);
    const caller = new Error().stack ?? "";
    const place = places.find(({ file, line }) => caller.includes(`${file}:${line}:`));
    if (place !== undefined)
      recorded.push({ file: place.file, line: place.line, source: made.source, flags: made.flags });
    return made;
  };
  globalThis.RegExp = new Proxy(original, {
    construct: (_, [pattern, flags]) => record(pattern, flags),
    apply: (_, __, [pattern, flags]) => record(pattern, flags),
  });
  try {
    for (const file of new Set(places.map((one) => one.file))) await import(join(root, file));
  } finally {
    globalThis.RegExp = original;
  }
  const missing = places.find(
    ({ file, line }) => !recorded.some((one) => one.file === file && one.line === line),
  );
  if (missing === undefined) return recorded;
  throw new Error(
    `${missing.file}:${missing.line} ${missing.code} was not made while its module loaded`,
  );
}

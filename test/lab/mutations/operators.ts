/** The mutations of a source: each changes one expression or statement, as a slip of the hand would. Types and imports stay as they are. */
import { parseSync } from "oxc-parser";
import { createRandom } from "../../faults/random.ts";

/** Replaces the characters from `start` to `end` by `text`. */
export type Mutation = { file: string; operator: string; start: number; end: number; text: string };

type Source = { file: string; text: string };
type Node = { type: string; start: number; end: number } & Record<string, unknown>;

const exchanged: Readonly<Record<string, { operator: string; by: string }>> = {
  "&&": { operator: "and, or", by: "||" },
  "||": { operator: "and, or", by: "&&" },
  "<": { operator: "comparison", by: "<=" },
  "<=": { operator: "comparison", by: "<" },
  ">": { operator: "comparison", by: ">=" },
  ">=": { operator: "comparison", by: ">" },
  "===": { operator: "equality", by: "!==" },
  "!==": { operator: "equality", by: "===" },
  "+": { operator: "plus, minus", by: "-" },
  "-": { operator: "plus, minus", by: "+" },
};

/** A bigger number is a limit or a time of which one more is as good. */
const maxCounted = 10;

/** The name of a kind, as opposed to a text for people. */
const kindName = /^[a-z][a-z0-9_.:-]*$/;

/** `count` different mutations from position `first` of the order that this seed gives. Each operator has the same chance. */
export function drawMutations(request: {
  sources: readonly Source[];
  seed: number;
  first: number;
  count: number;
}): Mutation[] {
  const { sources, seed, first, count } = request;
  const chance = createRandom(seed);
  const byOperator = Map.groupBy(sources.flatMap(mutationsOf), ({ operator }) => operator);
  const sites = [...byOperator.values()];
  const drawn: Mutation[] = [];
  while (drawn.length < first - 1 + count) {
    const left = sites.filter(({ length }) => length > 0);
    const ofOne = left[Math.floor(chance() * left.length)];
    if (ofOne === undefined) break;
    drawn.push(...ofOne.splice(Math.floor(chance() * ofOne.length), 1));
  }
  return drawn.slice(first - 1);
}

/** All mutations of one source, in its order. */
function mutationsOf({ file, text }: Source): Mutation[] {
  const mutations: Mutation[] = [];
  const literals: Node[] = [];
  visit(parseSync(file, text).program as unknown as Node);
  for (const [index, { start, end, raw }] of literals.entries()) {
    const others = [...literals.slice(index + 1), ...literals.slice(0, index)];
    const other = others.find((one) => one.raw !== raw);
    if (other !== undefined) add("literal", { start, end }, String(other.raw));
  }
  return mutations;

  function add(
    operator: string,
    { start, end }: { start: number; end: number },
    replacement: string,
  ): void {
    mutations.push({ file, operator, start, end, text: replacement });
  }

  function source({ start, end }: Node): string {
    return text.slice(start, end);
  }

  function visit(node: Node): void {
    if (/^(Import|ExportAll|TS(?!As|Satisfies|NonNull))/.test(node.type)) return;
    mutate(node);
    for (const [name, value] of Object.entries(node)) {
      // The key of a property is a name, not a value.
      if (name === "key" || name === "typeAnnotation") continue;
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
    }
  }

  function mutate(node: Node): void {
    switch (node.type) {
      case "LogicalExpression":
      case "BinaryExpression":
        exchangeOperator(node);
        break;
      case "IfStatement":
        negate(node);
        if (isGuard(node)) add("removed guard", node, ";");
        break;
      case "ConditionalExpression":
        negate(node);
        break;
      case "ExpressionStatement":
        // A line that helps to find errors is no behavior.
        if (!source(node).startsWith("log.debug(")) add("removed statement", node, ";");
        break;
      case "AwaitExpression":
        if (isNode(node.argument)) add("removed await", node, source(node.argument));
        break;
      case "Literal":
        mutateLiteral(node);
    }
  }

  function exchangeOperator(node: Node): void {
    const { left, right, operator } = node;
    const exchange = exchanged[String(operator)];
    if (exchange === undefined || !isNode(left) || !isNode(right)) return;
    add(exchange.operator, node, `${source(left)} ${exchange.by} ${source(right)}`);
  }

  function negate({ test }: Node): void {
    if (isNode(test)) add("negated condition", test, `!(${source(test)})`);
  }

  function mutateLiteral(node: Node): void {
    const { value } = node;
    if (typeof value === "boolean") add("boolean", node, String(!value));
    else if (typeof value === "number" && value <= maxCounted)
      add("number", node, String(value + 1));
    else if (typeof value === "string" && kindName.test(value)) literals.push(node);
  }
}

/** Leaves the function or the loop, and does nothing else. */
function isGuard({ consequent, alternate }: Node): boolean {
  if (alternate !== null || !isNode(consequent)) return false;
  const { type, body } = consequent;
  const [only, ...rest] =
    type === "BlockStatement" && Array.isArray(body) ? (body as Node[]) : [consequent];
  return rest.length === 0 && /^(Return|Throw|Continue|Break)/.test(only?.type ?? "");
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

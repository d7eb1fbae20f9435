/** How many tokens a task took, from whatever names its agent gives them. Pure. */
import * as z from "zod";

const countSchema = z.int().min(0);

export const tokensSchema = z.object({
  input: countSchema.optional(),
  output: countSchema.optional(),
  total: countSchema.optional(),
});
export type Tokens = z.infer<typeof tokensSchema>;

/** As the common interfaces of models call them, without case, dashes and underscores. */
const names = {
  input: ["inputtokens", "prompttokens", "inputtokencount", "prompttokencount", "promptevalcount"],
  output: ["outputtokens", "completiontokens", "outputtokencount", "candidatestokencount", "evalcount"],
  total: ["totaltokens", "totaltokencount"],
} as const;

/** Undefined where nothing in it is a count of tokens. Without a total of its own, that is the sum of what is known. */
export function tokensOf(usage: Readonly<Record<string, unknown>> | undefined): Tokens | undefined {
  if (usage === undefined) return undefined;
  const counts = new Map(
    Object.entries(usage).flatMap(([name, value]) => {
      const count = countSchema.safeParse(value).data;
      return count === undefined ? [] : [[name.toLowerCase().replaceAll(/[-_]/g, ""), count] as const];
    }),
  );
  const countOf = (known: readonly string[]) =>
    known.map((name) => counts.get(name)).find((count) => count !== undefined);
  const input = countOf(names.input);
  const output = countOf(names.output);
  const total = countOf(names.total) ?? sum(input, output);
  if (total === undefined) return undefined;
  return { ...(input !== undefined && { input }), ...(output !== undefined && { output }), total };
}

function sum(input: number | undefined, output: number | undefined): number | undefined {
  if (input === undefined && output === undefined) return undefined;
  const both = (input ?? 0) + (output ?? 0);
  return Number.isSafeInteger(both) ? both : undefined;
}

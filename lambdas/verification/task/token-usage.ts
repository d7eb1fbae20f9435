/** The token counts of a task, as its agent reports them. */
import * as z from "zod";

const countSchema = z.int().min(0);

export const tokensSchema = z.object({
  input: countSchema.optional(),
  output: countSchema.optional(),
  total: countSchema.optional(),
});
export type TokenUsage = z.infer<typeof tokensSchema>;

/** The names of token counts in common model APIs, in lower case, without dashes and underscores. */
const tokenNames = {
  input: ["inputtokens", "prompttokens", "inputtokencount", "prompttokencount", "promptevalcount"],
  output: [
    "outputtokens",
    "completiontokens",
    "outputtokencount",
    "candidatestokencount",
    "evalcount",
  ],
  total: ["totaltokens", "totaltokencount"],
} as const;

/**
 * Reads token counts from the usage that an agent reports, by the usual names. Undefined without any count. A missing total is the sum
 * of input and output.
 */
export function tokensOf(
  usage: Readonly<Record<string, unknown>> | undefined,
): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  const counts = new Map(
    Object.entries(usage).flatMap(([name, value]) => {
      const count = countSchema.safeParse(value).data;
      return count === undefined
        ? []
        : [[name.toLowerCase().replaceAll(/[-_]/g, ""), count] as const];
    }),
  );
  const countOf = (names: readonly string[]) =>
    names.map((name) => counts.get(name)).find((count) => count !== undefined);
  const input = countOf(tokenNames.input);
  const output = countOf(tokenNames.output);
  const total = countOf(tokenNames.total) ?? sum(input, output);
  if (total === undefined) return undefined;
  return { ...(input !== undefined && { input }), ...(output !== undefined && { output }), total };
}

function sum(input: number | undefined, output: number | undefined): number | undefined {
  if (input === undefined && output === undefined) return undefined;
  const both = (input ?? 0) + (output ?? 0);
  return Number.isSafeInteger(both) ? both : undefined;
}

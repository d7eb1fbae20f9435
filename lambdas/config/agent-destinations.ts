/** Each agent of `execution.agents` is also a destination, without a word of configuration. */
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import { nameSchema } from "./values.ts";

/**
 * The configuration with what its agents add where it says nothing itself: a destination of each name, and a route to the first one.
 * Anything malformed stays as it is, for the schema.
 */
export function addAgentDestinations(json: unknown): unknown {
  if (!isJsonObject(json)) return json;
  const { execution, destinations } = json;
  const agents = isJsonObject(execution) ? execution.agents : undefined;
  const names = Object.keys(isJsonObject(agents) ? agents : {}).filter(
    (name) => nameSchema.safeParse(name).success,
  );
  const [first] = names;
  if (first === undefined) return json;
  if (destinations !== undefined && !isJsonObject(destinations)) return json;
  const ownDestinations = names.map((name) => [name, { transport: "https", agent: name }] as const);
  return {
    ...(destinations === undefined && { routes: [{ destination: first }] }),
    ...json,
    destinations: { ...Object.fromEntries(ownDestinations), ...destinations },
  };
}

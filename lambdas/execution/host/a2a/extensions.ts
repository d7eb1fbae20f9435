/** The extensions that a request asks for and this host knows (A2A 1.0, section 3.2.6; 0.3 calls the header X-A2A-Extensions). Pure. */
import { questionKey, slackMessageKey, taskKey } from "../../../../contracts/a2a/extension.ts";
import type { Exchange } from "../exchange.ts";

const known: readonly string[] = [slackMessageKey, questionKey, taskKey];
const headerNames = ["a2a-extensions", "x-a2a-extensions"] as const;

/** The header of the response that names those which are in force; under the name that the request used. */
export function extensionHeaders({ header }: Pick<Exchange, "header">): Record<string, string> {
  const name = headerNames.find((each) => header(each) !== undefined);
  if (name === undefined) return {};
  const asked = (header(name) ?? "").split(",").map((uri) => uri.trim());
  const inForce = known.filter((uri) => asked.includes(uri));
  return inForce.length === 0 ? {} : { [name]: inForce.join(", ") };
}

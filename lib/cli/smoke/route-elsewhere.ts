/** Checks that the routes lead the tasks of a smoke test to the stage's own Execution zone. */
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import { isOwnExecution } from "../../../lambdas/shared/config/destination-address.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { findRoute } from "../../../lambdas/verification/gate/rules.ts";

type SmokeRoute = {
  config: Pick<Config, "destinations">;
  /** The routes in effect. */
  routes: Config["routes"];
  team: string;
  channel: string;
  texts: readonly string[];
};

/** Says where the first text leads that does not lead there. Undefined where all do. */
export function routeElsewhere({
  config,
  routes,
  team,
  channel,
  texts,
}: SmokeRoute): string | undefined {
  for (const text of texts) {
    const [name = ""] = findRoute({ routes, message: { team, channel, text } });
    const destination = config.destinations[name];
    // The stage's own destination has no address in the file.
    if (destination !== undefined && isOwnExecution(destination)) continue;
    const where =
      name === "" ? "nowhere" : `to ${name}, which is not the stage's own Execution zone`;
    return `The route of ${channel} in workspace ${team} leads ${where}: ${sekisho} destinations set NAME --channel ${channel} changes it.`;
  }
  return undefined;
}

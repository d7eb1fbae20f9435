/** Can the parameter of the live settings be read, and does it hold some? */
import type { InForce } from "../../destinations/in-force.ts";
import { type Check, ok } from "../check.ts";

/** `inForce` has read it, and rejects with what to do where that cannot be used. */
export function liveSettings({ inForce }: { inForce: () => Promise<InForce> }): Check {
  return {
    name: "live settings",
    async run() {
      const { routesFromFile } = await inForce();
      return ok(routesFromFile ? "No routes were pushed: those that were deployed hold." : "Pushed routes hold.");
    },
  };
}

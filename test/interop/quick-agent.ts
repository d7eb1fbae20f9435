/** The example agent for the compatibility kits, which waits a fraction of its time. */
import { setTimeout as delay } from "node:timers/promises";
import { createCompatibilityAgent } from "../../examples/a2a-compatibility-agent.ts";

export const quickAgent = createCompatibilityAgent({
  sleep: ({ ms, signal }) => delay(ms / 20, undefined, { signal }),
});

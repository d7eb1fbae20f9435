/** Our transport against the official SDK's own server. */
import { setTimeout as delay } from "node:timers/promises";
import { createCompatibilityAgent } from "../../examples/a2a-compatibility-agent.ts";
import { startSdkServer } from "./sdk-server.ts";
import { describeStories } from "./stories.ts";

const agent = createCompatibilityAgent({ sleep: ({ ms, signal }) => delay(ms / 20, undefined, { signal }) });

const lacks = { "a task is found by the request that began it": "0.3 has no listing of tasks over JSON-RPC." };

describeStories({
  name: "the official SDK, 1.0",
  speaks: "1.0",
  start: () => startSdkServer({ agent, versions: ["1.0"] }),
});
describeStories({
  name: "the official SDK, 0.3",
  speaks: "0.3",
  start: () => startSdkServer({ agent, versions: ["0.3"] }),
  lacks,
});
describeStories({
  name: "the official SDK with both, 1.0 of itself",
  speaks: "1.0",
  start: () => startSdkServer({ agent, versions: ["0.3", "1.0"] }),
});
describeStories({
  name: "the official SDK with both, 0.3 as asked",
  version: "0.3",
  start: () => startSdkServer({ agent, versions: ["1.0", "0.3"] }),
  lacks,
});

/** Our transport against the server of the official SDK. */

import { describeStories, lackedBy03 as lacks } from "./describe-stories.ts";
import { quickAgent as agent } from "./quick-agent.ts";
import { startSdkServer } from "./sdk-server.ts";

const noNames = "The SDK's Protocol Buffers of 0.3 have no names of files.";
const lackedByProtocolBuffers = {
  "delivers the files of an agent unchanged: bytes": noNames,
  "delivers the files of an agent unchanged: an address": noNames,
};

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
describeStories({
  name: "the official SDK over HTTP+JSON, 1.0",
  speaks: "1.0",
  start: () => startSdkServer({ agent, versions: ["1.0"], bindings: ["HTTP+JSON"] }),
});
describeStories({
  name: "the official SDK over HTTP+JSON, 0.3",
  speaks: "0.3",
  start: () => startSdkServer({ agent, versions: ["0.3"], bindings: ["HTTP+JSON"] }),
  lacks: { ...lacks, ...lackedByProtocolBuffers },
});

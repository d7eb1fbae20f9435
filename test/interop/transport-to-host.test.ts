/** Our transport against our host. */

import { describeStories, lackedBy03 } from "./describe-stories.ts";
import { startOurHost } from "./our-host.ts";
import { quickAgent } from "./quick-agent.ts";

const start = () => startOurHost({ agent: quickAgent });

describeStories({ name: "our host, 1.0", speaks: "1.0", start });
describeStories({ name: "our host, 0.3", version: "0.3", start, lacks: lackedBy03 });

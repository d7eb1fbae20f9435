/**
 * Lets frameworks of other makers talk to Sekisho in both directions: our transport calls their agents, and their clients call our host. The
 * models follow a script, and everything is on loopback. Exits with 1 if a story failed.
 */
import { startOurHost } from "../../interop/our-host.ts";
import { adk } from "./adk.ts";
import { mastra } from "./mastra.ts";
import type { Peer } from "./peer.ts";
import { sdk } from "./sdk.ts";
import { agentStories, clientStories, connect, ourAgent } from "./stories.ts";
import { strands } from "./strands.ts";

const counts = { passed: 0, failed: 0 };

async function run(request: {
  peer: Peer;
  side: "agent" | "client";
  story: string;
  tell: () => Promise<void>;
}): Promise<void> {
  const { peer, side, story, tell } = request;
  const lack = peer.lacks[`${side}: ${story}`];
  if (lack !== undefined) {
    console.log(`-  ${peer.name}, ${side}: ${story} (${lack})`);
    return;
  }
  try {
    await tell();
    counts.passed += 1;
    console.log(`ok ${peer.name}, ${side}: ${story}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`NO ${peer.name}, ${side}: ${story}\n`, error);
  }
}

for (const peer of [adk, strands, mastra, sdk]) {
  const agent = await peer.startAgent?.();
  if (agent !== undefined) {
    const side = connect(agent);
    for (const [story, tell] of Object.entries(agentStories)) {
      await run({ peer, side: "agent", story, tell: () => tell(side, peer) });
    }
    await side.close();
    await agent.close();
  }
  const host = await startOurHost({ agent: ourAgent });
  for (const [story, tell] of Object.entries(clientStories)) {
    await run({ peer, side: "client", story, tell: () => tell(() => peer.converse(host.url)) });
  }
  await host.close();
}

console.log(`${counts.passed} passed, ${counts.failed} failed`);
// Tasks of peers that cannot be canceled still run.
process.exit(counts.failed > 0 ? 1 : 0);

/** The first text of agents behind AG-UI, and how much later it is reported than that of an agent of one's own. The times are only printed. */
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import { createAgent } from "@sekisho/execution/agents/ag-ui.ts";
import { type Agent, runAgent } from "@sekisho/execution/agents/agent.ts";
import {
  type AgUiServer,
  encodeEvents,
  runOf,
  startAgUiServer,
  textOf,
} from "../../execution/agents/ag-ui-server.ts";
import { agentContext, agentTask } from "../../execution/agents/agent-context.ts";
import { hello } from "../../execution/test-host.ts";
import { type Framework, startFramework } from "./framework.ts";

const rounds = 20;

/** Lets the agent of the running round end its answer. */
let release = Promise.withResolvers<void>();
let endpoint: AgUiServer;
let mastra: Framework;
let langGraph: Framework;

beforeAll(async () => {
  const events = runOf(textOf("m1", ["The beginning ", "and the end."]));
  endpoint = await startAgUiServer(async (input, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(encodeEvents(events.slice(0, 3), input));
    await release.promise;
    response.end(encodeEvents(events.slice(3), input));
    return undefined;
  });
  [mastra, langGraph] = await Promise.all([startFramework("mastra"), startFramework("langgraph")]);
});
afterAll(async () => {
  await endpoint?.close();
  await mastra?.close();
  await langGraph?.close();
});

function agentAt(url: string | undefined): Agent {
  return createAgent({
    config: agentSchema.parse({ type: "ag-ui", url }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
}

const ownAgent: Agent = async function* () {
  yield { type: "progress", partial: "The beginning " };
  await release.promise;
  yield { type: "answer", text: "The beginning and the end." };
};

/** The time to the first text, after which the agent may end. */
async function measure(agent: Agent, letEnd: () => void) {
  release = Promise.withResolvers<void>();
  const startMs = performance.now();
  let firstTextMs = 0;
  let answer = "";
  const context = { ...agentContext(), contextId: crypto.randomUUID() };
  for await (const update of runAgent(agent, agentTask({ ...hello, text: "stream" }), context)) {
    if (update.type === "answer") answer = update.text;
    if (update.type !== "progress" || update.partial === undefined || firstTextMs > 0) continue;
    firstTextMs = performance.now() - startMs;
    letEnd();
  }
  return { firstTextMs, answer };
}

it("reports the first text of each answer before its end", async () => {
  const agents = [
    { name: "an agent of one's own", agent: ownAgent, letEnd: () => release.resolve() },
    { name: "AG-UI", agent: agentAt(endpoint.url), letEnd: () => release.resolve() },
    { name: "Mastra over AG-UI", agent: agentAt(mastra.urls.agUi), letEnd: mastra.release },
    {
      name: "LangGraph over AG-UI",
      agent: agentAt(`${langGraph.urls.agUi}/asking`),
      letEnd: langGraph.release,
    },
  ].map((each) => ({ ...each, times: [] as number[] }));
  for (let round = 0; round < rounds; round += 1)
    for (const { agent, letEnd, times } of agents) {
      const { firstTextMs, answer } = await measure(agent, letEnd);
      expect(answer).toBe("The beginning and the end.");
      // The first round loads what later ones have.
      if (round > 0) times.push(firstTextMs);
    }
  const lines = agents.map(({ name, times }) => {
    const [median = 0] = times.toSorted((one, other) => one - other).slice(times.length / 2);
    return `${name}: first text after ${median.toFixed(1)} ms (median of ${times.length})`;
  });
  console.log(lines.join("\n"));
  expect(agents.map(({ times }) => times.filter((time) => time > 0).length)).toEqual(
    agents.map(() => rounds - 1),
  );
});

/** LangGraph's server with two graphs, and an endpoint of AG-UI for each. */
import { join } from "node:path";
import { LangGraphAgent } from "@ag-ui/langgraph";
import { startServer } from "@langchain/langgraph-api/server";
import { listen } from "./listen.ts";
import { tell } from "./parent.ts";
import { serveAgUi } from "./serve-ag-ui.ts";

const graphFile = join(import.meta.dirname, "graphs.ts");
const graphs = { approving: `${graphFile}:approving`, asking: `${graphFile}:asking` };
const { host } = await startServer({
  port: 0,
  nWorkers: 10,
  host: "127.0.0.1",
  cwd: process.cwd(),
  graphs,
});
const deploymentUrl = `http://${host}`;

const routes = {
  "/approving": serveAgUi(() => new LangGraphAgent({ deploymentUrl, graphId: "approving" })),
  "/asking": serveAgUi(() => new LangGraphAgent({ deploymentUrl, graphId: "asking" })),
  "/outcome": serveAgUi(
    () => new LangGraphAgent({ deploymentUrl, graphId: "asking", emitInterruptOutcome: true }),
  ),
};
const url = await listen(routes);
tell({ event: "ready", urls: { server: deploymentUrl, agUi: url } });

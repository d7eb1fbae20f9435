/** An Express app that serves an Execution zone at a path, beside routes of its own. */
import { createExecutionZone } from "@sekisho/execution";
import express from "express";
import { agent } from "./agent.ts";

const {
  AGENT_TOKEN = "",
  TASKS_FILE = ":memory:",
  PORT = "8080",
  HOST = "127.0.0.1",
} = process.env;
// Without a file the tasks are in memory, and a restart forgets them. Throws if the token is shorter than 20 characters.
// A first call waits a second for its task, so that people see early that it is under way.
const zone = createExecutionZone({
  agent,
  tokens: [AGENT_TOKEN],
  syncBudgetMs: 1000,
  file: TASKS_FILE,
});

const app = express();
app.disable("x-powered-by");
// Before the body parser: the zone checks the token before it reads the body, and reads the body itself.
app.use("/agents/sekisho", zone.listener);
app.use(express.json());
app.post("/greetings", (request, response) => {
  response.json({ greeting: `Hello, ${request.body?.name ?? "stranger"}!` });
});

const server = app.listen(Number(PORT), HOST, (error) => {
  if (error) throw error;
  const address = server.address();
  console.log(`Listening on ${HOST} ${typeof address === "object" ? address?.port : address}`);
});

/** Lets the calls under way be answered, ends the tasks that run, and closes the file. */
function stop(): void {
  server.close(() => void zone.close());
}
process.once("SIGTERM", stop);
process.once("SIGINT", stop);

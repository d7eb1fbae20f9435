/** A Hono app that serves an Execution zone at a path, beside routes of its own. */
import { serve } from "@hono/node-server";
import { createExecutionZone } from "@sekisho/execution";
import { Hono } from "hono";
import { agent } from "./agent.ts";

const {
  AGENT_TOKEN = "",
  TASKS_FILE = ":memory:",
  PORT = "8080",
  HOST = "127.0.0.1",
} = process.env;
const path = "/agents/sekisho";
// Without a file the tasks are in memory, and a restart forgets them. Throws if the token is shorter than 20 characters.
// A first call waits a second for its task, so that people see early that it is under way.
const zone = createExecutionZone({
  agent,
  tokens: [AGENT_TOKEN],
  syncBudgetMs: 1000,
  path,
  file: TASKS_FILE,
});

const app = new Hono();
// Above middleware that reads bodies: the zone checks the token before it reads the body, and reads the body itself.
app.all(`${path}/*`, (context) => zone.fetch(context.req.raw));
app.post("/greetings", async (context) => {
  const { name = "stranger" } = await context.req.json<{ name?: string }>();
  return context.json({ greeting: `Hello, ${name}!` });
});

const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: HOST }, ({ port }) => {
  console.log(`Listening on ${HOST} ${port}`);
});

/** Lets the calls under way be answered, ends the tasks that run, and closes the file. */
function stop(): void {
  server.close(() => void zone.close());
}
process.once("SIGTERM", stop);
process.once("SIGINT", stop);

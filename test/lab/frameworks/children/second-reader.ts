/** Reads the streams at the addresses with the client of AG-UI's makers, and writes what came of each. */
import { HttpAgent } from "@ag-ui/client";
import "./parent.ts";

export type Reading = { end: "answer" | "question"; text: string } | { end: "failure" };

async function read(url: string): Promise<Reading> {
  const message = { id: "first", role: "user" as const, content: "hello" };
  const agent = new HttpAgent({ url, threadId: "thread", initialMessages: [message] });
  let isOver = false;
  const events = {
    onRunFinishedEvent() {
      isOver = true;
    },
    onRunErrorEvent() {
      isOver = false;
    },
  };
  const run = await agent.runAgent({}, events).catch(() => undefined);
  if (run === undefined || !isOver) return { end: "failure" };
  const texts = run.newMessages.flatMap(({ role, content, subagentRunId }) =>
    role === "assistant" && typeof content === "string" && !subagentRunId ? [content] : [],
  );
  const text = texts.length === 0 ? String(run.result) : texts.join("\n\n");
  return { end: agent.pendingInterrupts.length > 0 ? "question" : "answer", text };
}

const readings: Reading[] = [];
for (const url of process.argv.slice(2)) readings.push(await read(url));
process.stdout.write(JSON.stringify(readings));

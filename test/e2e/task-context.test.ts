/** An agent reads about the people and the channel of a message, from Slack to the agent's own file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type E2eWorld, startWorld } from "./world.ts";

let folder: string;
let world: E2eWorld;
const file = () => join(folder, "task.json");
const readTask = () => JSON.parse(readFileSync(file(), "utf8"));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-context-"));
  writeFileSync(
    join(folder, "agent.ts"),
    `import { writeFileSync } from "node:fs";
export async function agent({ text, history, context }) {
  writeFileSync(${JSON.stringify(file())}, JSON.stringify({ text, history, context }));
  return "Read.";
}
`,
  );
  const slack = { context: { channel: true, forwards: false } };
  world = await startWorld({ transport: "a2a", agent: join(folder, "agent.ts"), slack });
});
afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

it("passes the agent who wrote in the thread, and where", async () => {
  const first = world.ask("private first", { channel: "CRANDOM", user: "UHANAKO" });
  await world.over(first.requestId);
  const context = {
    channel_name: "random",
    channel_kind: "public",
    channel_topic: "Cats & dogs, see [the rules](https://example.com/pets)",
  };
  expect(readTask()).toEqual({ text: "private first", context });
  const second = world.ask("private second", { channel: "CRANDOM", threadTs: first.message.ts });
  await world.over(second.requestId);
  expect(readTask()).toMatchObject({
    text: "private second",
    context,
    history: [
      { role: "user", text: "private first", user_id: "UHANAKO", name: "Hanako" },
      { role: "assistant" },
    ],
  });
});

it("hides forwarded messages from the agent if the configuration leaves them out", async () => {
  const attachments = [{ is_share: true, text: "The backup failed", author_name: "robin" }];
  const first = world.ask("third", { channel: "CRANDOM", attachments });
  await world.over(first.requestId);
  expect(readTask().text).toBe("third");
  const second = world.ask("fourth", { channel: "CRANDOM", threadTs: first.message.ts });
  await world.over(second.requestId);
  expect(readTask().history).toMatchObject([{ text: "third" }, { role: "assistant" }]);
  expect(world.stored()).not.toContain("The backup failed");
});

/** An agent of one's own on this machine: which token it gets where that is wished, and what of its answer is not fetched. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { startWebServer, type WebServer } from "../doubles/web-server.ts";
import { type E2eWorld, install, inThread, startWorld, textsOf } from "./world.ts";

const clientSecret = "a-client-secret-of-this-test";
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

let folder: string;
/** Another program on this machine. */
let files: WebServer;
let filesAsked = 0;
let world: E2eWorld;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-agent-"));
  files = await startWebServer({
    handle: async () => {
      filesAsked += 1;
      return new Response("a report");
    },
  });
  writeFileSync(
    join(folder, "agent.ts"),
    `import { createHash } from "node:crypto";
export async function* agent({ bot_token = "" }) {
  yield { type: "artifact", artifact: { name: "report.txt", url: ${JSON.stringify(`${files.url}/report`)} } };
  yield { type: "answer", text: "Token " + createHash("sha256").update(bot_token).digest("hex") };
}
`,
  );
  process.env.SLACK_CLIENT_SECRET = clientSecret;
  world = await startWorld({
    transport: "https",
    agent: join(folder, "agent.ts"),
    forwardBotToken: true,
    slack: { install: { clientId: "1234.5678", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    install: { clientId: "1234.5678", clientSecret },
    allowlist: [{ team: "TSECOND" }],
  });
});
afterAll(async () => {
  await world?.close();
  await files.close();
  delete process.env.SLACK_CLIENT_SECRET;
  rmSync(folder, { recursive: true, force: true });
});

it("gives the agent only the bot token of the workspace in which it was asked", async () => {
  await install(world, { team: "TSECOND" });
  const [{ token } = { token: "" }] = world.fakeSlack
    .installations()
    .filter(({ caller }) => "team" in caller && caller.team === "TSECOND");
  const there = world.ask("which token?", { channel: "CSECOND", user: "UOUTSIDER" });
  const here = world.ask("which token?");
  await Promise.all([world.over(there.requestId), world.over(here.requestId)]);
  expect(textsOf(world.answersTo(there.message))).toContain(hashOf(token));
  expect(textsOf(world.answersTo(here.message))).toContain(hashOf(world.secrets.botToken));
});

it("refuses a loopback address for a file of an answer, and posts the answer without it", async () => {
  const post = world.ask("the report");
  await world.over(post.requestId);
  await inThread(world, post, (message) => JSON.stringify(message).includes("report.txt"));
  expect(textsOf(world.answersTo(post.message))).toContain("Token ");
  expect(filesAsked).toBe(0);
});

/** The buttons below an answer and below a failure, from a click in Slack to the agent's own file. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { listVotes } from "@sekisho/local/fake-slack/blocks.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import {
  type E2eWorld,
  inThread,
  labelsOf,
  startWorld,
  textsOf,
  until,
  withButton,
} from "./world.ts";

let folder: string;
let world: E2eWorld;
const votesFile = () => join(folder, "votes");
const votesGot = () =>
  existsSync(votesFile()) ? readFileSync(votesFile(), "utf8").trim().split("\n") : [];
const hasVotes = ({ blocks = [] }: FakeSlackMessage) => listVotes(blocks).length > 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-below-"));
  writeFileSync(
    join(folder, "agent.ts"),
    `import { appendFileSync } from "node:fs";
let tries = 0;
export async function* agent({ text, attachments = [] }, { readAttachment }) {
  if (text.startsWith("fail once") && tries++ === 0) {
    yield { type: "failure", reason: "execution_failed" };
    return;
  }
  const files = await Promise.all(attachments.map((attachment) => readAttachment({ attachment })));
  yield { type: "answer", text: \`Done: \${text} \${files.map((file) => Buffer.from(file).toString()).join()}\` };
}
export function feedback({ vote, voterId, requestId }) {
  appendFileSync(${JSON.stringify(votesFile())}, \`\${requestId} \${vote} \${voterId}\\n\`);
}
`,
  );
  world = await startWorld({ transport: "https", agent: join(folder, "agent.ts") });
});
afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Presses 👍 or 👎 below the answer. */
function vote(message: FakeSlackMessage, index: 0 | 1, user?: string) {
  const { action_id: actionId = "", value } = listVotes(message.blocks ?? [])[index]?.button ?? {};
  const { channel, ts } = message;
  const { eventsUrl, fakeSlack } = world;
  return fakeSlack.clickButton({ eventsUrl, channel, ts, actionId, value, ...(user && { user }) })
    .delivered;
}

it("passes a vote and its change to the agent's function without the Slack id of the person", async () => {
  const post = world.ask("hello");
  const answer = await inThread(world, post, hasVotes);
  await world.over(post.requestId);
  await vote(answer, 0);
  await until(() => votesGot().length === 1);
  await vote(answer, 1);
  const [up = "", down = ""] = await until(() => votesGot().length === 2 && votesGot());
  expect(up).toMatch(new RegExp(`^${post.requestId} up [0-9a-f]{32}$`));
  expect(down).toBe(up.replace(" up ", " down "));
  expect(textsOf(world.answersTo(post.message)).match(/Done: hello/g)).toHaveLength(1);
});

it("retries a failed task once with its file, in the same thread, and removes the button", async () => {
  const files = [
    { name: "a.txt", mimetype: "text/plain", bytes: Buffer.from("what is in the file") },
  ];
  const post = world.ask("fail once", { files });
  const { channel, ts } = await withButton(world, post, "Try again");
  await world.over(post.requestId);
  const click = () =>
    world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Try again" })
      .delivered;
  await Promise.all([click(), click()]);
  await inThread(world, post, ({ text }) => text.includes("Done: fail once what is in the file"));
  const failure = () => world.answersTo(post.message).find((message) => message.ts === ts);
  await until(
    () => failure() !== undefined && !labelsOf(failure() as FakeSlackMessage).includes("Try again"),
  );
  expect(failure()?.text).toContain("The agent couldn't finish this.");
  expect(textsOf(world.answersTo(post.message)).match(/Done: fail once/g)).toHaveLength(1);
});

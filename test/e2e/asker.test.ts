/** Who asked, all the way from Slack to the agent: both zones on one machine, where the host requires the token and no key leaves the machine. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type StartedZones, startZones } from "../world/started-zones.ts";
import { inThread, textsOf, withButton } from "./world.ts";

const destinations = {
  "in-process": { transport: "in-process" },
  "in-process-a2a": { transport: "in-process", protocol: "a2a" },
  https: { transport: "https" },
  a2a: { transport: "a2a" },
  "a2a-0-3": { transport: "a2a", version: "0.3" },
};

/** It says who asked, who answered, and whether it has the token of the one who asked. */
const agent = `
export async function* agent(task, context) {
  const { asker, askerToken } = context;
  const [answer] = task.answers;
  if (answer === undefined) {
    yield { type: "question", prompt: "Deploy?", options: [{ id: "yes", label: "Yes" }] };
    return;
  }
  const { user, team, zone } = asker;
  const words = [team, user, "of", zone, "asked,", answer.asker.user, "answered", askerToken ? "with" : "without"];
  yield { type: "answer", text: words.join(" ") };
}
`;

let folder: string;
let zones: StartedZones;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-agent-"));
  const file = join(folder, "agent.ts");
  writeFileSync(file, agent);
  const told = { asker: true, questions: { answerBy: "anyone" } };
  const names = Object.keys(destinations);
  zones = await startZones({
    config: {
      // Nothing is published there.
      asker: { issuer: "https://asker.example" },
      destinations: Object.fromEntries(
        Object.entries(destinations).map(([name, destination]) => [
          name,
          { ...destination, ...told },
        ]),
      ),
      routes: [
        ...names.map((name) => ({ word: name, destination: name })),
        { destination: "https" },
      ],
      execution: { agent: file, asker: "required", syncBudgetMs: 300 },
    },
  });
});
afterAll(async () => {
  await zones?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function askAndAnswer(name: string, user: string): Promise<string> {
  const post = zones.ask(`${name}: deploy`);
  const { channel, ts } = await withButton(zones, post, "Yes");
  const { eventsUrl } = zones;
  await zones.fakeSlack.clickButton({ eventsUrl, channel, ts, label: "Yes", user }).delivered;
  await inThread(zones, post, ({ text }) => text.includes("asked,"));
  return textsOf(zones.answersTo(post.message));
}

describe.each(Object.keys(destinations))("over %s", (name) => {
  it("tells the agent who asked and who clicked in the thread of somebody else", async () => {
    expect(await askAndAnswer(name, "UHANAKO")).toContain(
      "TSTANDIN UPERSON of sekisho asked, UHANAKO answered without",
    );
  });

  it("gives the agent the token of who asked and then clicked", async () => {
    expect(await askAndAnswer(name, "UPERSON")).toContain("UPERSON answered with");
  });
});

it("writes no token into logs, and refuses what comes without one", async () => {
  expect(zones.lines.join("\n")).not.toMatch(/eyJ/);
  expect(zones.lines.join("\n")).not.toContain("asker_refused");
  const response = await fetch(zones.executionUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: "0198a5b2-0000-7000-8000-000000000001" },
      ...{ method: "execute_task", params: { channel: "C1", text: "hello" } },
    }),
  });
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({ error: { data: { reason: "asker_unverified" } } });
});

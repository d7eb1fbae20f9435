/** The operators' page asks Slack for names, and keeps working where it gives none. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
  botToken,
  type CalledSlack,
  channel,
  startCalledSlack,
} from "../../local/fake-slack/web-api.ts";
import { type Visitor, visit } from "../../local/web/ask.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { openTasksInFile, requestIdOf, servePage } from "./tasks-in-file.ts";

const variable = "SEKISHO_TEST_BOT_TOKEN";
let slack: CalledSlack;
let tasks: ReturnType<typeof openTasksInFile>;
let site: Awaited<ReturnType<typeof servePage>>;
let visitor: Visitor;

beforeEach(async () => {
  slack = await startCalledSlack();
  tasks = openTasksInFile();
  const json = { slack: { apiUrl: slack.fakeSlack.apiUrl, botToken: { env: variable } } };
  writeFileSync(join(tasks.folder, "sekisho.config.json"), JSON.stringify(json));
  const { message } = sampleTask();
  await tasks.add(1, {
    state: "waiting",
    message: { ...message, channel, user: "UHANAKO", ts: slack.asked },
  });
  site = await servePage({ folder: tasks.folder });
  visitor = await visit(site.address);
  process.env[variable] = botToken;
});
afterEach(async () => {
  delete process.env[variable];
  await site.close();
  await tasks.close();
  await slack.fakeSlack.close();
});

async function get(path: string): Promise<{ status: number; json: unknown }> {
  const { status, body } = await visitor.ask(`/operate/api/${path}`);
  return { status, json: status === 200 ? JSON.parse(body) : body };
}

const linkPath = `tasks/${requestIdOf(1)}/link`;

describe("the names on the operators' page", () => {
  it("serves names by id, and omits those that Slack does not know", async () => {
    const names = { users: { UHANAKO: "Hanako" }, channels: { [channel]: "#general" } };
    const foundNames = await get(`names?users=UHANAKO,UNOBODY&channels=${channel},CNOWHERE`);
    expect(foundNames).toEqual({ status: 200, json: names });
    const link = `https://fake-slack.slack.com/archives/${channel}/p${slack.asked.replace(".", "")}`;
    expect(await get(linkPath)).toEqual({ status: 200, json: { link } });
  });

  it("serves no names without a token", async () => {
    delete process.env[variable];
    expect(await get("names?users=UHANAKO")).toEqual({
      status: 200,
      json: { users: {}, channels: {} },
    });
    expect(await get(linkPath)).toEqual({ status: 200, json: {} });
  });

  it("refuses invalid ids, and too many ids at once", async () => {
    const many = Array.from({ length: 101 }, (_, index) => `U${index}`).join(",");
    for (const query of ["users=../etc", `users=${many}`, "channels=%23general"]) {
      expect((await get(`names?${query}`)).status).toBe(400);
    }
  });

  it("refuses to serve names without a session", async () => {
    expect((await fetch(`${site.url}/operate/api/names?users=UHANAKO`)).status).toBe(401);
  });
});

/** One run of both zones as processes on this machine, in a folder of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { retryDelaysMs } from "./people.ts";
import type { Report } from "./report.ts";
import { type RunRequest, runPlan } from "./run-plan.ts";
import { openSqliteBooks } from "./sqlite-books.ts";
import { startZones } from "./zones.ts";

const secrets = {
  SLACK_SIGNING_SECRET: "a-signing-secret-of-these-runs",
  SLACK_BOT_TOKEN: "xoxb-a-bot-token-of-these-runs",
};

/** When `signal` aborts, the processes are ended, and it rejects. */
export async function runStory(request: RunRequest): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-faults-"));
  const opened: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  try {
    const { SLACK_SIGNING_SECRET: signingSecret, SLACK_BOT_TOKEN: botToken } = secrets;
    const fakeSlack = await startFakeSlack({ signingSecret, botToken, retryDelaysMs });
    opened.push(fakeSlack.close);
    const zones = await startZones({ folder, slackApiUrl: fakeSlack.apiUrl, secrets });
    opened.push(zones.close);
    const books = openSqliteBooks({ folder });
    opened.push(books.close);
    return await runPlan({ ...request, fakeSlack, zones, books, secrets });
  } finally {
    for (const close of opened.reverse()) await close();
  }
}

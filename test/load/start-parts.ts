/** The parts of a load run, started one after the other and closed in reverse: Slack, the Execution zone, the Verification zone. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExecutionSettings, VerificationSettings } from "./children/settings.ts";
import { configuration } from "./configuration.ts";
import { seededRandom } from "./seeded.ts";
import { type LoadSlack, startLoadSlack } from "./slack.ts";
import { startZoneProcess, type ZoneEvent, type ZoneProcess } from "./zone-process.ts";

export type Parts = {
  slack: LoadSlack;
  execution: ZoneProcess;
  verification: ZoneProcess;
  signingSecret: string;
  close(): Promise<void>;
};

export async function startParts({
  atOnce,
  failing,
  seed,
  quietMs,
  sweepAfterMs,
  onEvent,
  onDeath,
}: {
  atOnce: number;
  failing: number;
  seed: number;
  quietMs: number;
  sweepAfterMs: number;
  onEvent: (event: ZoneEvent) => void;
  onDeath: (error: Error) => void;
}): Promise<Parts> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-load-"));
  const closers = [async () => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const closeOne of closers.toReversed()) await closeOne();
  };
  const zone = async (
    name: "execution" | "verification",
    settings: Omit<ExecutionSettings, "file"> | Omit<VerificationSettings, "file">,
  ) => {
    const file = join(folder, `${name}.db`);
    const started = await startZoneProcess({ zone: name, settings: { ...settings, file }, onEvent, onDeath });
    closers.push(started.close);
    return started;
  };
  const signingSecret = randomBytes(16).toString("hex");
  const botToken = `xoxb-${randomBytes(16).toString("hex")}`;
  try {
    const slack = await startLoadSlack({ botToken, failing, random: seededRandom(seed) });
    closers.push(slack.close);
    const execution = await zone("execution", { config: configuration, atOnce, quietMs });
    const verification = await zone("verification", {
      config: configuration,
      seed: seed + 1,
      failing,
      sweepAfterMs,
      executionUrl: execution.url,
      slackApiUrl: slack.apiUrl,
      signingSecret,
      botToken,
    });
    return { slack, execution, verification, signingSecret, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

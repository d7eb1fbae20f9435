/** What `npm start` runs, with a folder and ports of its own: both zones, the stand-in for Slack, and the page. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStandIn, startBothZones } from "../../bin/local/both-zones.ts";
import { createJourney } from "../../bin/local/journey/journey.ts";
import { createPage } from "../../bin/local/page/page.ts";
import type { SlackStandIn } from "../../bin/local/slack-stand-in.ts";
import { workspace } from "../../bin/local/stand-in/workspace.ts";
import { watchTasks } from "../../bin/local/watch-tasks.ts";
import { openPageBesideRun, type PageBesideRun } from "../../bin/operate/beside-run.ts";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { silentLog } from "../../lambdas/shared/log.ts";

export type Started = { url: string; standIn: SlackStandIn; close(): Promise<void> };

/** Everybody may ask in `# general` and in direct messages, nobody in `# random`. */
const rules = [workspace.channel.id, workspace.directMessages.id].map((channel) => ({ team: workspace.team, channel }));

/** Nobody listens at `far`. */
const json = {
  slack: { command: { name: "/sekisho" }, contact: "the platform team" },
  destinations: { local: { transport: "https" }, far: { transport: "https", url: "http://127.0.0.1:9/" } },
  routes: [{ destination: "local" }],
  execution: { agent: "echo", syncBudgetMs: 500 },
};

export async function startWithPage(): Promise<Started> {
  const config = parseConfig({ json });
  const folder = mkdtempSync(join(tmpdir(), "sekisho-browser-"));
  const { standIn, slack } = await openStandIn({ log: silentLog });
  const journey = createJourney();
  const page = createPage({ standIn, journey });
  const { observe, tap } = watchTasks({ add: journey.add });
  let operators: PageBesideRun | undefined;
  const zones = await startBothZones({
    config,
    directory: folder,
    storeFolder: folder,
    port: 0,
    executionPort: 0,
    slack: { ...slack, extraRules: rules },
    log: () => silentLog,
    page: async (...exchange) => (await operators?.handle(...exchange)) || page.handle(...exchange),
    observe,
    tap,
  });
  const file = join(folder, "sekisho.config.json");
  writeFileSync(file, JSON.stringify(json));
  operators = openPageBesideRun({
    config: { directory: folder, file },
    store: join(folder, "verification.db"),
    executionPort: Number(new URL(zones.executionUrl).port),
    journey,
    log: silentLog,
  });
  return {
    url: zones.verificationUrl,
    standIn,
    async close() {
      page.close();
      await operators?.close();
      await zones.close();
      await standIn.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

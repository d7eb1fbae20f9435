/** Starts what `npm start` runs, with a folder and ports of its own: both zones, the fake Slack, and the page. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { openFakeSlack, startBothZones } from "@sekisho/local/both-zones.ts";
import type { FakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createPage } from "@sekisho/local/page/page.ts";
import { createStepRecorder } from "@sekisho/local/recorder/step-recorder.ts";
import { createTaskWatch } from "@sekisho/local/recorder/task-watch.ts";
import { createDoor } from "@sekisho/local/web/door.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { openPageBesideRun, type PageBesideRun } from "@sekisho/sekisho/operate/server.ts";

/** `address` gives the printed address of a page, with the token. */
export type Started = {
  url: string;
  address(path: string): string;
  fakeSlack: FakeSlack;
  close(): Promise<void>;
};

/** Everybody may ask in `# general` and in direct messages, nobody in `# random`. */
const rules = [workspace.channel.id, workspace.directMessages.id].map((channel) => ({
  team: workspace.team,
  channel,
}));

/** Nobody listens at `far`. */
const json = {
  slack: {
    command: { name: "/sekisho" },
    contact: "the platform team",
    assistant: { prompts: [{ title: "Introduce yourself", message: "Who are you?" }] },
  },
  destinations: {
    local: { transport: "https" },
    far: { transport: "https", url: "http://127.0.0.1:9/" },
  },
  routes: [{ destination: "local" }],
  execution: { agent: "echo", syncBudgetMs: 500 },
};

export async function startWithPage(): Promise<Started> {
  const config = parseConfig({ json });
  const folder = mkdtempSync(join(tmpdir(), "sekisho-browser-"));
  const { fakeSlack, slack } = await openFakeSlack({ log: silentLog });
  const stepRecorder = createStepRecorder();
  const door = createDoor();
  const page = createPage({ fakeSlack, stepRecorder, door });
  const { observe, tap } = createTaskWatch({ add: stepRecorder.add });
  let operators: PageBesideRun | undefined;
  const zones = await startBothZones({
    config,
    directory: folder,
    storeFolder: folder,
    port: 0,
    executionPort: 0,
    slack: { ...slack, extraRules: rules },
    log: () => silentLog,
    page: async (...exchange) =>
      (await page.handle(...exchange)) || (await operators?.handle(...exchange)) || false,
    observe,
    tap,
  });
  const file = join(folder, "sekisho.config.json");
  writeFileSync(file, JSON.stringify(json));
  operators = openPageBesideRun({
    config: { directory: folder, file },
    store: join(folder, "verification.db"),
    executionPort: Number(new URL(zones.executionUrl).port),
    steps: stepRecorder.steps,
    fakeSlack: slack,
    door,
    log: silentLog,
  });
  return {
    url: zones.verificationUrl,
    address: (path) => door.address(`${zones.verificationUrl}${path}`),
    fakeSlack,
    async close() {
      page.close();
      await operators?.close();
      await zones.close();
      await fakeSlack.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts what `npm start` runs, with a folder and ports of its own: both zones, the fake Slack, and the page. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import type { FakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { listExamples } from "@sekisho/local/page/examples.ts";
import { createPage, type LocalPage } from "@sekisho/local/page/page.ts";
import { createStepRecorder } from "@sekisho/local/recorder/step-recorder.ts";
import { createTaskWatch } from "@sekisho/local/recorder/task-watch.ts";
import { createDoor } from "@sekisho/local/web/door.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { openPageBesideRun, type PageBesideRun } from "@sekisho/sekisho/operate/server.ts";
import { startZones } from "../world/started-zones.ts";

/** `address` gives the printed address of a page, with the token. */
export type Started = {
  url: string;
  address(path: string): string;
  fakeSlack: FakeSlack;
  /** Forgets all recorded steps, as a restart does. */
  restartPage(): void;
  close(): Promise<void>;
};

/** Everybody may ask in `# general` and in direct messages, nobody in `# random`. */
const rules = [workspace.channel.id, workspace.directMessages.id, "DHANAKO"].map((channel) => ({
  team: workspace.team,
  channel,
}));

/** Nobody listens at `far`. */
const config = {
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
  let stepRecorder = createStepRecorder();
  const door = createDoor();
  const examples = listExamples(parseConfig({ json: config }));
  let page: LocalPage | undefined;
  let operators: PageBesideRun | undefined;
  const zones = await startZones({
    config,
    extraRules: rules,
    level: "error",
    attach(fakeSlack) {
      page = createPage({ fakeSlack, stepRecorder, door, examples });
      return {
        ...createTaskWatch({ add: (step) => stepRecorder.add(step) }),
        page: async (...exchange) =>
          (await page?.handle(...exchange)) || (await operators?.handle(...exchange)) || false,
      };
    },
  });
  const { folder, fakeSlack, verificationUrl: url } = zones;
  const file = join(folder, "sekisho.config.json");
  writeFileSync(file, JSON.stringify(config));
  operators = openPageBesideRun({
    config: { directory: folder, file },
    store: join(zones.storeFolder, "verification.db"),
    executionPort: Number(new URL(zones.executionUrl).port),
    steps: () => stepRecorder.steps(),
    fakeSlack: zones.slack,
    door,
    log: silentLog,
  });
  return {
    url,
    address: (path) => door.address(`${url}${path}`),
    fakeSlack,
    restartPage() {
      page?.close();
      stepRecorder = createStepRecorder();
      page = createPage({ fakeSlack, stepRecorder, door, examples });
    },
    async close() {
      page?.close();
      await operators?.close();
      await zones.close();
    },
  };
}

/** The Verification zone of a load run as a process of its own, with a transport that fails at times. */
import { dirname } from "node:path";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { createDestinations } from "../../../lambdas/verification/destinations.ts";
import { openSqliteEngine } from "../../../lib/local/engine.ts";
import { workspace } from "../../../lib/local/fake-slack/workspace.ts";
import { openSlackInstallation } from "../../../lib/local/slack-installation.ts";
import { startVerificationZone } from "../../../lib/local/verification-zone.ts";
import { bump, type CallCounts } from "../call-counts.ts";
import { countingEngine } from "../counting-engine.ts";
import { earlySweeps } from "../early-sweeps.ts";
import { countOperations } from "../operation-counts.ts";
import { seededRandom } from "../seeded.ts";
import { failingTransport } from "./failing-transport.ts";
import { serveParent } from "./serve-parent.ts";
import { readSettings, type VerificationSettings } from "./settings.ts";
import { tell } from "./tell.ts";

const settings = readSettings<VerificationSettings>();
const { file, seed, failing, sweepAfterMs } = settings;
const config = parseConfig({ json: settings.config });
const log = createLog({ service: "verification", level: "error" });
const counter = countOperations();
const counts: CallCounts = { calls: {}, failed: {} };
const random = seededRandom(seed);
const destinations = createDestinations({
  config,
  localUrl: `${settings.executionUrl}/`,
  readSecret: async () => "",
  botTokenOf: async () => settings.botToken,
  log,
  wrap: ({ transport }) => failingTransport({ transport, failing, random, counts }),
});
const zone = await startVerificationZone({
  config,
  openEngine: () =>
    countingEngine({
      engine: earlySweeps({ engine: openSqliteEngine({ file }), sweepAfterMs }),
      count: counter.count,
    }),
  dataFolder: dirname(file),
  port: 0,
  signingSecret: async () => settings.signingSecret,
  installation: openSlackInstallation({
    config,
    dataFolder: dirname(file),
    botToken: async () => settings.botToken,
    apiUrl: settings.slackApiUrl,
    log,
  }),
  slackApiUrl: settings.slackApiUrl,
  destinations,
  extraRules: [{ team: workspace.team }],
  observe({ requestId, event, task }) {
    if (event.type === "busy") bump(counter.counts, `${task.state} busy`);
    if (event.type === "delivered" || event.type === "cleaned_up") tell({ type: event.type, requestId });
  },
  log,
});
async function close(): Promise<void> {
  await zone.close();
  await Promise.all([...destinations.values()].map(({ client }) => client.close()));
}
serveParent({ operations: counter.counts, counts, close });
tell({ type: "ready", url: zone.url });

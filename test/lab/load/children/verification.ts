/** The Verification zone of a load run as a process, with a transport that fails at times. */

import { dirname } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { openSlackInstallation } from "@sekisho/local/slack-installation.ts";
import { startVerificationZone } from "@sekisho/local/verification-zone.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createDestinations } from "@sekisho/verification/destinations.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { noCredentials } from "../../../doubles/aws/no-credentials.ts";
import { createRandom } from "../../kills/plan.ts";
import { bump, type CallCounts, countingEngine, countOperations } from "../counting-engine.ts";
import { readSettings, serveParent, tell, type VerificationSettings } from "./parent.ts";

/** Lets a share of sends fail: not sent for certain, not sent although nobody knows, or sent with the answer lost. */
function failingTransport({
  transport,
  failing,
  random,
  counts,
}: {
  transport: Transport;
  failing: number;
  random: () => number;
  counts: CallCounts;
}): Transport {
  return {
    ...transport,
    async send(request) {
      const { method } = JSON.parse(Buffer.from(request.body).toString()) as { method: string };
      bump(counts.calls, method);
      if (random() >= failing) return transport.send(request);
      bump(counts.failed, method);
      const fault = Math.floor(random() * 3);
      if (fault === 0) throw new SekishoError("unavailable");
      if (fault === 1) await transport.send(request);
      throw new SekishoError("ambiguous");
    },
  };
}

const settings = readSettings<VerificationSettings>();
const { file, seed, failing } = settings;
const config = parseConfig({ json: settings.config });
const log = createLog({ service: "verification", level: "error" });
const counter = countOperations();
const counts: CallCounts = { calls: {}, failed: {} };
const random = createRandom({ seed }).next;
const destinations = createDestinations({
  config,
  localUrl: `${settings.executionUrl}/`,
  readSecret: async () => "",
  botTokenOf: async () => settings.botToken,
  credentials: noCredentials,
  log,
  wrap: ({ transport }) => failingTransport({ transport, failing, random, counts }),
});
const zone = await startVerificationZone({
  config,
  openEngine: () => countingEngine({ engine: openSqliteEngine({ file }), count: counter.count }),
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
    if (event.type === "delivered" || event.type === "cleaned_up")
      tell({ type: event.type, requestId });
  },
  log,
});
async function close(): Promise<void> {
  await zone.close();
  await Promise.all([...destinations.values()].map(({ client }) => client.close()));
}
serveParent({ operations: counter.counts, counts, close });
tell({ type: "ready", url: zone.url });

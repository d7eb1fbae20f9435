/** This machine as the checks see it. */
import { once as onceEmitted } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { isOwnExecution } from "@sekisho/config/destination-address.ts";
import type { Environment } from "@sekisho/config/environment.ts";
import type { ConfigLocation } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { hasSecret, readSecret } from "@sekisho/config/secrets.ts";
import { isAnySet } from "@sekisho/local/slack-installation.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { listStoredRules } from "../allow/rule-zone.ts";
import { openLocalZone } from "../zone/local-zone.ts";
import { CheckEnded, once, skip } from "./check.ts";
import { checkFromHere, toFinding } from "./destinations.ts";
import { destinationClocks, measureSkew } from "./entry.ts";
import { askIdentity } from "./slack.ts";
import type { Entry, Machine, PortUse, Zone } from "./targets.ts";

type MachineOptions = {
  config: Config;
  environment: Environment;
  location: ConfigLocation;
  signal: AbortSignal;
};

export function openMachine(options: MachineOptions): Machine {
  const { config, environment, location, signal } = options;
  const { slack } = config;
  const dataFolder = join(location.directory, ".sekisho");
  const verificationFile = join(dataFolder, "verification.db");
  const portUse: Machine["portUse"] = {
    Verification: once(() => findPortUse("Verification", environment.port, signal)),
    Execution: once(() => findPortUse("Execution", environment.executionPort, signal)),
  };
  const isRunning = async (zone: Zone) => (await portUse[zone]()) === "zone";
  const bot = once(() => askIdentity({ config, readSecret, signal }));
  const entry = once(async () => {
    if (await isRunning("Verification")) return describeRunningEntry(slack, environment.port);
    throw new CheckEnded(skip(explainNoEntry(slack)));
  });
  return {
    config,
    environment,
    folder: existsSync(dataFolder) ? dataFolder : location.directory,
    dataFolder,
    portUse,
    stageOption: "",
    manifestCommand: `${sekisho} manifest${hasSecret(slack.appToken) ? " --socket" : ""}`,
    hasSlack: isAnySet(slack),
    readSecret,
    bot,
    entry,
    // The file exists from the first start on.
    storedRules: async () =>
      existsSync(verificationFile)
        ? listStoredRules(openLocalZone({ file: verificationFile, config: () => config }))
        : [],
    clocks: [
      // Slack is not called without a token.
      {
        who: "Slack",
        isTrusted: true,
        skewMs: () => bot().then(() => measureSkew({ url: slack.apiUrl, signal })),
      },
      ...destinationClocks(config, signal),
    ],
    destinations: Object.keys(config.destinations),
    async checkDestination(name) {
      const destination = config.destinations[name];
      const isHere = destination !== undefined && isOwnExecution(destination);
      if (isHere && !(await isRunning("Verification")) && !(await isRunning("Execution"))) {
        const start = `Start both zones with ${sekisho} start.`;
        return skip(`The Execution zone is not running on this machine. ${start}`);
      }
      return toFinding(await checkFromHere({ config, location, name, signal }));
    },
    signal,
  };
}

function describeRunningEntry({ signingSecret }: Config["slack"], port: number): Entry {
  return {
    url: `http://127.0.0.1:${port}/slack/events`,
    name: "The zone that runs here",
    start: `Start it again: ${sekisho} start.`,
    setSecret:
      "Start it again with the app's own signing secret. Without one it runs with the fake Slack's.",
    readLog: "Look at its log.",
    mayLackSecret: !hasSecret(signingSecret),
  };
}

/** An entry that does not run can be asked nothing. */
function explainNoEntry({ signingSecret, appToken }: Config["slack"]): string {
  return hasSecret(appToken) && !hasSecret(signingSecret)
    ? "Over Socket Mode no entry is needed."
    : `No Verification zone is running here. ${sekisho} start starts one.`;
}

/** The answer of each zone to a request that changes nothing. */
const signs: Record<Zone, { path: string; isZone: (response: Response) => Promise<boolean> }> = {
  Verification: {
    path: "/slack/events",
    isZone: async ({ status, headers }) => status === 405 && headers.get("allow") === "POST",
  },
  Execution: {
    path: "/healthz",
    isZone: async (response) =>
      response.status === 200 && (await response.text()) === '{"status":"ok"}',
  },
};

async function findPortUse(zone: Zone, port: number, signal: AbortSignal): Promise<PortUse> {
  const server = createServer();
  try {
    server.listen({ host: "127.0.0.1", port });
    await onceEmitted(server, "listening");
    server.close();
    await onceEmitted(server, "close");
    return "free";
  } catch (error) {
    if (Object(error).code !== "EADDRINUSE") return "forbidden";
  }
  const { path, isZone } = signs[zone];
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(2000)]);
    const url = `http://127.0.0.1:${port}${path}`;
    return (await isZone(await fetch(url, { redirect: "manual", signal: limit })))
      ? "zone"
      : "other";
  } catch {
    return "other";
  }
}

/** Both zones in this process, behind real sockets, with the fake Slack in front: a message goes all the way from a person to its answer. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { openFakeSlack, startBothZones } from "@sekisho/local/both-zones.ts";
import type { FakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { type Engine, openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog, type LogLevel } from "@sekisho/runtime/log.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Observation } from "@sekisho/verification/worker/step/step.ts";
import { hangMs } from "../tooling/hang.ts";

type Options = Parameters<typeof startBothZones>[0];

export type StartedZones = Awaited<ReturnType<typeof startZones>>;

export async function startZones({
  config,
  slack: slackOptions = {},
  extraRules,
  openEngine,
  wrapEngine = (engine) => engine,
  level = "debug",
  attach = () => ({}),
}: {
  /** As in the configuration file. */
  config: object;
  /** The rules of the fake Slack. Nobody gives up because a machine is slow. */
  slack?: Parameters<typeof openFakeSlack>[0];
  /** Who may ask, besides the allowlist of the configuration. Everybody where absent. */
  extraRules?: Options["slack"]["extraRules"] | undefined;
  /** sqlite where absent. */
  openEngine?: Options["openEngine"] | undefined;
  wrapEngine?: (engine: Engine) => Engine;
  level?: LogLevel;
  /** What needs the fake Slack, such as the local page. */
  attach?: (fakeSlack: FakeSlack) => Pick<Options, "page" | "tap" | "observe">;
}) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-zones-"));
  const storeFolder = join(folder, ".sekisho");
  mkdirSync(storeFolder);
  const { fakeSlack, slack } = await openFakeSlack({
    ...{ triggerLifeMs: hangMs, answerTimeoutMs: hangMs },
    ...slackOptions,
  });
  const lines: string[] = [];
  const observations: Observation[] = [];
  const listeners: ((observation: Observation) => void)[] = [];
  const open =
    openEngine ?? ((zone) => openSqliteEngine({ file: join(storeFolder, `${zone}.db`) }));
  const { observe, ...attached } = attach(fakeSlack);
  const zones = await startBothZones({
    ...{ config: parseConfig({ json: config }), directory: folder, storeFolder, ...attached },
    openEngine: (zone) => wrapEngine(open(zone)),
    ...{ port: 0, executionPort: 0, metricsPort: 0 },
    slack: { ...slack, extraRules: extraRules ?? slack.extraRules },
    observe(observation) {
      observations.push(observation);
      for (const listener of listeners) listener(observation);
      observe?.(observation);
    },
    log: (service) => createLog({ service, level, write: (line) => lines.push(line) }),
  });
  const { verificationUrl, executionUrl, metricsUrl = "" } = zones;
  const eventsUrl = `${verificationUrl}/slack/events`;
  return {
    ...{ fakeSlack, slack, lines, observations, verificationUrl, executionUrl, metricsUrl },
    ...{ eventsUrl, storeFolder },
    secrets: { signingSecret: await slack.signingSecret(), botToken: await slack.botToken() },
    /** Where the command line finds the same store. */
    folder,
    ask: (text: string, where: Omit<Parameters<FakeSlack["ask"]>[0], "eventsUrl" | "text"> = {}) =>
      fakeSlack.ask({ eventsUrl, text, ...where }),
    /** Resolves to the first record of the task that is as wished; where nothing is, to the one whose answer is in the thread. */
    over(requestId: string, isWished = ({ state }: Task) => state === "done"): Promise<Task> {
      const { promise, resolve } = Promise.withResolvers<Task>();
      const listener = ({ requestId: id, task }: Observation) => {
        if (id === requestId && isWished(task)) resolve(task);
      };
      observations.forEach(listener);
      listeners.push(listener);
      return promise;
    },
    /** What the bot has in the thread of a message. */
    answersTo: (message: FakeSlackMessage) =>
      fakeSlack.thread(message).filter(({ ts }) => ts !== message.ts),
    async close() {
      await zones.close();
      await fakeSlack.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

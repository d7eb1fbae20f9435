/** `doctor --send`: sends tasks through a stage. */
import { setTimeout as wait } from "node:timers/promises";
import { CloudWatchClient, DescribeAlarmsCommand } from "@aws-sdk/client-cloudwatch";
import { isOwnExecution, readHostAgent } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { findRoute } from "@sekisho/verification/gate/rules.ts";
import { callAws } from "../aws/aws-failure.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { openTaskZone } from "../tasks/task-zone.ts";
import { openStageZone } from "../zone/stage-zone.ts";
import { type Finding, failure, ok, skip } from "./check.ts";
import { requireSecret } from "./slack.ts";
import {
  openSlackThread,
  runStory,
  type StoryDependencies,
  type StoryName,
  type StoryResult,
  type StorySettings,
  storyGroups,
  storyTexts,
} from "./stories.ts";
import type { DeployedStage, Sent } from "./targets.ts";

export type SendSettings = StorySettings & {
  /** The longest wait for the record of a task to cancel. The worker writes it seconds after the entry took the task. */
  recordPatienceMs: number;
};

export const defaultSettings: SendSettings = {
  wakes: 20,
  wakeTaskMs: 13 * 60_000,
  longTaskMs: 20 * 60_000,
  patienceMs: 120_000,
  pollMs: 1000,
  recordPatienceMs: 10_000,
};

export type SendRequest = {
  target: DeployedStage;
  /** The configuration file, which names the variables of secrets. */
  config: Config;
  channel: string;
  user: string;
  settings: SendSettings;
  note: (text: string) => void;
};

/** Says why the tasks cannot be sent to the stage. Undefined where they can. */
export async function findObstacle(request: SendRequest): Promise<string | undefined> {
  const { target, config, channel, settings } = request;
  const { stageName, stage, deploy } = target;
  const refuse = (why: string) =>
    `Stage ${stageName} ${why}, but --send needs the agent "echo". Set "execution": { "agent": "echo" }, run ${deploy}, send, then deploy your own agent.`;
  if (stage.execution.kind === "external") return refuse("deploys no Execution zone of its own");
  const { routes } = (await target.effective()).config;
  const team = await readTeam(target);
  for (const text of storyTexts(settings)) {
    const [name = ""] = findRoute({ routes, message: { team, channel, text } });
    const destination = config.destinations[name];
    // The stage's own destination has no address in the file.
    if (destination !== undefined && isOwnExecution(destination)) {
      const agent = readHostAgent(destination);
      const { [agent ?? ""]: runningAgent = config.execution.agent } = config.execution.agents;
      if (runningAgent === "echo") continue;
      return refuse("runs another agent");
    }
    const where =
      name === "" ? "nowhere" : `to ${name}, which is not the stage's own Execution zone`;
    return `The route of ${channel} in workspace ${team} leads ${where}: ${sekisho} destinations set NAME --channel ${channel} changes it.`;
  }
  return undefined;
}

async function readTeam({ bot }: DeployedStage): Promise<string> {
  const answer = await bot();
  return answer.state === "accepted" ? answer.teamId : "";
}

/** Rejects where it is interrupted, and cancels the tasks that it began. */
export async function sendTasks(request: SendRequest): Promise<Sent> {
  const { target, config, channel, user, note } = request;
  const { stageName, readSecret, signal } = target;
  const { slack } = target.config;
  const [signingSecret, token] = await Promise.all([
    requireSecret(slack.signingSecret, readSecret),
    requireSecret(slack.botToken, readSecret),
  ]);
  const { eventsUrl } = await target.outputs();
  const team = await readTeam(target);
  // The zone must outlive the command's signal, because the tasks are canceled after Ctrl-C.
  const never = new AbortController().signal;
  const zone = await openTaskZone({
    zone: await openStageZone({ config, stage: stageName, signal: never }),
    signal: never,
  });
  const settings = { ...request.settings, longTaskMs: limitLongTask(request) };
  try {
    const thread = openSlackThread({ apiUrl: slack.apiUrl, token, team, channel, signal });
    const stories = await runStories({
      ...{ zone, slack: thread, eventsUrl, signingSecret, channel, user, settings, note, signal },
    });
    return { target, stories };
  } finally {
    await zone.close();
  }
}

/** A Lambda function keeps no session that could idle out. */
const maxLambdaLongTaskMs = 2 * 60_000;

/** Returns how long the long task takes: as the settings say, but not so long that the stage would end it. */
export function limitLongTask(request: {
  target: Pick<DeployedStage, "stage">;
  config: Pick<Config, "destinations">;
  settings: Pick<SendSettings, "longTaskMs">;
}): number {
  const { target, config, settings } = request;
  const deadlines = Object.values(config.destinations)
    .filter(isOwnExecution)
    .map(({ deadlineMs }) => deadlineMs / 2);
  const isLambda = target.stage.execution.kind === "lambda";
  const maxMs = isLambda ? maxLambdaLongTaskMs : Number.POSITIVE_INFINITY;
  return Math.min(settings.longTaskMs, maxMs, ...deadlines);
}

type StoriesRun = Omit<StoryDependencies, "onBegun" | "settings" | "zone"> & {
  zone: Pick<TaskZone, "store" | "queue">;
  settings: SendSettings;
};

/** Rejects where it is interrupted, and cancels the tasks that it began. */
export async function runStories(run: StoriesRun): Promise<Map<StoryName, StoryResult>> {
  const begunIds: string[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([run.signal, stop.signal]);
  const onBegun = (requestId: string) => void begunIds.push(requestId);
  const results = new Map<StoryName, StoryResult>();
  for (const group of storyGroups) {
    const running = group.map(async (name) => {
      const result = await runStory(name, { ...run, signal, onBegun });
      results.set(name, result);
      run.note(`${name}: ${result.ok ? "" : "failed: "}${result.what}`);
      return result.ok;
    });
    const oks = await Promise.all(running).catch(async (error) => {
      stop.abort();
      await Promise.allSettled(running);
      await cancelBegun(run, begunIds);
      throw error;
    });
    // An unfinished task would keep its agent from the next group.
    if (oks.includes(false)) await cancelBegun(run, begunIds);
  }
  return results;
}

/** A task that has no record after `recordPatienceMs` was not taken by the entry. */
async function cancelBegun({ zone, settings, note }: StoriesRun, begunIds: readonly string[]) {
  const endMs = performance.now() + settings.recordPatienceMs;
  await Promise.all(
    begunIds.map(async (id) => {
      try {
        let task = (await zone.store.get({ id }))?.task;
        while (task === undefined && performance.now() < endMs) {
          await wait(settings.pollMs);
          task = (await zone.store.get({ id }))?.task;
        }
        if (task === undefined || task.state === "done") return;
        await sendCancel({ zone, task });
        note(`Canceled ${id}.`);
      } catch {
        note(`Could not cancel ${id}: ${sekisho} tasks cancel ${id}`);
      }
    }),
  );
}

export function checkStory({ stories }: Sent, name: StoryName): Finding {
  const result = stories.get(name);
  if (result === undefined) return skip("It was not sent.");
  return result.ok ? ok(result.what) : failure(`${result.what} Its id is ${result.requestId}.`);
}

/** Looks at the alarms of the stage's stacks in the Verification account. */
export async function checkAlarms({ target }: Sent): Promise<Finding> {
  const { stageName, stage, signal } = target;
  const { region } = stage.verification;
  const client = new CloudWatchClient({ region, customUserAgent: sdkUserAgent });
  const AlarmNamePrefix = `Sekisho-${stageName}-`;
  try {
    const command = new DescribeAlarmsCommand({ AlarmNamePrefix, StateValue: "ALARM" });
    const { MetricAlarms = [] } = await callAws({
      doing: "look at the alarms",
      signal,
      call: (options) => client.send(command, options),
    });
    if (MetricAlarms.length === 0) return ok("None is in ALARM.");
    return failure(`In ALARM: ${MetricAlarms.map(({ AlarmName }) => AlarmName).join(", ")}.`);
  } finally {
    client.destroy();
  }
}

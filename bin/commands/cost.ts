/** `sekisho cost`: estimates what a stage costs on AWS, from measured calls and published prices. */
import { defaultIdleSeconds } from "../../lambdas/shared/config/agentcore-session.ts";
import { defaultSyncBudgetMs } from "../../lambdas/shared/config/call-time.ts";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import type { PlatformVersionName } from "../../lambdas/shared/config/stage-schema.ts";
import { estimate } from "../../lib/cli/aws/cost/estimate.ts";
import { costTable, writeSection } from "../../lib/cli/aws/cost/table.ts";
import { type MeasuredKind, readMeasuredCalls } from "../../lib/cli/aws/cost/task-cost.ts";
import { chooseStage } from "../../lib/cli/aws/stage.ts";
import { defineCommand, exitCodes, flag, option, UsageError } from "../../lib/cli/command.ts";

const kinds = ["agentcore", "lambda", "external"] as const satisfies readonly MeasuredKind[];

export const cost = defineCommand({
  name: "cost",
  about: `
Estimates what a stage costs on AWS in a month. Prints the total and its largest part first, then each service for every
kind of Execution zone, then one task by its length, from 5 seconds to 8 hours. The rehearsal measured the calls and log
lines of a task. Assumptions and prices are printed with the result.`,
  options: {
    stage: option(
      "NAME",
      "takes KIND, idle time, platform version and `syncBudgetMs` from this stage and its configuration",
    ),
    tasks: { ...option("N", "tasks per month (100000)"), default: "100000" },
    seconds: { ...option("N", "seconds for which the agent works on a task (30)"), default: "30" },
    kind: option(
      "KIND",
      `kind of Execution zone in the first line: ${kinds.join(", ")} (agentcore)`,
    ),
    "idle-seconds": option(
      "N",
      `seconds for which an AgentCore session idles after its last call (${defaultIdleSeconds}); 0 for stopAfterResult`,
    ),
    json: flag("prints one JSON object"),
    markdown: flag("writes the estimate into docs/explanation/costs.md"),
  },
  async run({ directory, print, values }) {
    const { json, markdown } = values;
    const stage =
      values.stage === undefined
        ? defaults
        : stageDefaults(loadConfig({ directory }), values.stage);
    const kindName = values.kind ?? stage.kind;
    const kind = kinds.find((each) => each === kindName);
    if (kind === undefined)
      throw new UsageError(`--kind: "${kindName}" is not one of ${kinds.join(", ")}.`);
    if (json && markdown) throw new UsageError("Give --json or --markdown, not both.");
    const result = estimate({
      kind,
      tasks: readNumber("--tasks", values.tasks),
      taskSeconds: readNumber("--seconds", values.seconds),
      idleSeconds: readIdleSeconds(values["idle-seconds"]) ?? stage.idleSeconds,
      syncBudgetMs: stage.syncBudgetMs,
      platformVersion: stage.platformVersion,
      measured: readMeasuredCalls(),
    });
    if (json) print(JSON.stringify(result, null, 2));
    else if (markdown)
      print(`Written to ${writeSection({ directory, table: costTable(result) })}.`);
    else print(costTable(result));
    return exitCodes.success;
  },
});

type StageDefaults = {
  kind: string;
  idleSeconds: number;
  syncBudgetMs: number;
  platformVersion: PlatformVersionName;
};
const defaults: StageDefaults = {
  kind: "agentcore",
  idleSeconds: defaultIdleSeconds,
  syncBudgetMs: defaultSyncBudgetMs,
  platformVersion: "V1",
};

function stageDefaults(config: Config, stageName: string): StageDefaults {
  const { execution } = chooseStage(config, stageName).stage;
  const { syncBudgetMs = defaultSyncBudgetMs } = config.execution;
  if (execution.kind !== "agentcore") return { ...defaults, kind: execution.kind, syncBudgetMs };
  const { kind, platformVersion, stopAfterResult, idleSeconds } = execution;
  return { kind, platformVersion, syncBudgetMs, idleSeconds: stopAfterResult ? 0 : idleSeconds };
}

function readIdleSeconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return text === "0" ? 0 : readNumber("--idle-seconds", text);
}

function readNumber(option: string, text: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text);
  throw new UsageError(`${option}: "${text}" is not a whole number above 0.`);
}

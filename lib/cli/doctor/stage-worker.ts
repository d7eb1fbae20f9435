/** Asks the deployed worker of a stage about itself and about the destinations, each once. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { type WorkerAnswer, workerAnswerSchema } from "../../../lambdas/verification/checks/operator-call.ts";
import { askWorker, workerTimeoutMs } from "../aws/ask-worker.ts";
import type { StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import { checkInStage, deployedWorker } from "../destinations/check-in-stage.ts";
import { once } from "./check.ts";
import type { BotIdentity } from "./slack-side.ts";

export type StageWorkerSide = {
  /** Rejects where the worker cannot be asked, as `destinations` does. */
  state(): Promise<WorkerAnswer>;
  destinations(): Promise<DestinationCheck[]>;
  /** Slack's answer to the worker's bot token. */
  identity(): Promise<BotIdentity>;
  timeoutMs: number;
};

export function openStageWorker({
  config,
  named,
  outputs,
  signal,
}: {
  config: Config;
  named: NamedStage;
  outputs: () => Promise<StackOutputs>;
  signal: AbortSignal;
}): StageWorkerSide {
  const worker = async () => deployedWorker({ ...named, config, outputs: await outputs() });
  const request = { operator: "check_worker" } as const;
  const state = once(async () =>
    askWorker({ worker: await worker(), request, answerSchema: workerAnswerSchema, signal }),
  );
  return {
    state,
    destinations: once(async () => checkInStage({ worker: await worker(), config, signal })),
    identity: async () => state().then(({ bot }) => identityOf(bot), notAsked),
    timeoutMs: workerTimeoutMs(config.limits),
  };
}

function notAsked(): BotIdentity {
  return { missing: "It is known when the deployed worker answers." };
}

function identityOf(bot: WorkerAnswer["bot"]): BotIdentity {
  switch (bot.state) {
    case "unreadable":
      return { unreadable: bot.error };
    case "unreachable":
      return { unreachable: true };
    case "refused":
      return { answer: { error: bot.error, fields: {}, scopes: undefined, skewMs: undefined } };
    case "accepted": {
      const { user, team, teamId: team_id, scopes } = bot;
      return { answer: { error: undefined, fields: { user, team, team_id }, scopes, skewMs: undefined } };
    }
  }
}

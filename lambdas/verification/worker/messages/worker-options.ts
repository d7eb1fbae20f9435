/** The options of a worker: those of its steps, and the checks of a message before there is a task. */
import type { Gate } from "../../gate/gate.ts";
import type { ZoneSecretValues } from "../../task/routing.ts";
import type { HandleInteraction } from "../interactions.ts";
import type { NoticeLateChange } from "../late-changes.ts";
import type { RunAct, StepOptions, StopSession } from "../step/step.ts";
import type { Threads } from "../threads.ts";
import type { Votes } from "../votes.ts";

export type WorkerOptions = StepOptions & {
  runAct: RunAct;
  stopSession: StopSession;
  /** True if the bot was asked in the message's thread before. Only then it answers a message that does not mention it. */
  isKnownThread: Threads["isKnown"];
  /** True if a message is dropped without an answer, before there is a record of it. */
  isIgnored: Gate["isIgnored"];
  noticeLateChange: NoticeLateChange;
  handleInteraction: HandleInteraction;
  passVote: Votes["pass"];
  /** The key of the session ids. Rejects if the store is unavailable. */
  zoneSecret: () => ZoneSecretValues | Promise<ZoneSecretValues>;
};

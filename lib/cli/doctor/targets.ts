/** The places where checks run, and what a check gets there. */
import type { Environment } from "@sekisho/config/environment.ts";
import type { ConfigLocation } from "@sekisho/config/load.ts";
import type { AllowlistRule, Config } from "@sekisho/config/schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import type { BotAnswer, WorkerAnswer } from "@sekisho/verification/checks/operator-call.ts";
import type { StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import type { EffectiveConfig } from "../destinations/effective-config.ts";
import type { Finding, Table } from "./check.ts";
import type { StoryName, StoryResult } from "./stories.ts";

export type Targets = {
  /** The machine of the command, even if its configuration cannot be used. */
  here: { location: ConfigLocation; readConfig: () => Config };
  /** A subject of `doctor`: this machine or a stage. */
  both: Subject;
  machine: Machine;
  stage: DeployedStage;
  /** A stage to which `--send` has sent tasks. */
  sent: Sent;
};

export type DoctorTable = Table<Targets>;

/** The functions reject with a CheckEnded or with an error for a person. Each asks once, however often it is called. */
export type Subject = {
  config: Config;
  /** The option by which other commands find the same subject, after a space; "" for this machine. */
  stageOption: string;
  /** The command that prints the app's manifest. */
  manifestCommand: string;
  /** False for a machine that runs the fake Slack, which has secrets of its own. */
  hasSlack: boolean;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Slack's answer to the bot token. */
  bot: () => Promise<BotAnswer>;
  entry: () => Promise<Entry>;
  /** The rules of `sekisho allow`. */
  storedRules: () => Promise<readonly AllowlistRule[]>;
  clocks: ClockSource[];
  destinations: readonly string[];
  checkDestination: (name: string) => Promise<Finding>;
  signal: AbortSignal;
};

export type Machine = Subject & {
  environment: Environment;
  /** Where the files are, or will be made. It exists. */
  folder: string;
  dataFolder: string;
  portUse: Record<Zone, () => Promise<PortUse>>;
};

export type Zone = "Verification" | "Execution";
/** `zone`: the expected zone listens there. `forbidden`: this user may not listen there. */
export type PortUse = "free" | "zone" | "other" | "forbidden";

export type DeployedStage = Subject &
  NamedStage & {
    /** The command that deploys the stage. */
    deploy: string;
    caller: () => Promise<{ account: string; arn: string }>;
    outputs: () => Promise<StackOutputs>;
    effective: () => Promise<EffectiveConfig>;
    worker: () => Promise<WorkerAnswer>;
  };

/** The endpoint of Slack's events under test. The other fields are sentences for a person; `name` begins one. */
export type Entry = {
  url: string;
  name: string;
  /** The remedy if nothing answers. */
  start: string;
  /** The remedy if the entry has a wrong secret, or none. */
  setSecret: string;
  readLog: string;
  /** True for a zone that may use Socket Mode, which needs no signing secret. */
  mayLackSecret: boolean;
};

/** `skewMs` resolves to the time by which our clock is ahead, or to undefined if the source gave no time. */
export type ClockSource = {
  who: string;
  /** A clock of another peer may be wrong itself. */
  isTrusted: boolean;
  skewMs: () => Promise<number | undefined>;
};

/** The results of the tasks of `--send`. */
export type Sent = {
  target: DeployedStage;
  stories: ReadonlyMap<StoryName, StoryResult>;
};

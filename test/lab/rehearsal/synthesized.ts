/** The templates of each kind, in two accounts, with times that a rehearsal can wait for. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { formatRoleName } from "@sekisho/cdk/names.ts";
import type { ExecutionKind } from "@sekisho/config/stage-schema.ts";
import { synthInto } from "../../cdk/synth.ts";
import { type Assembly, readAssembly } from "./template/assembly.ts";

export const stageName = "rehearsal";

export const verificationPlace = { account: "111111111111", region: "eu-central-1" };
/** The caller that hosts elsewhere admit. */
export const verificationRoleArn = `arn:aws:iam::${verificationPlace.account}:role/${formatRoleName({ stageName, zone: "Verification" })}`;
/** The role of a person. It is in no template. */
export const operatorRoleArn = `arn:aws:iam::${verificationPlace.account}:role/operator`;
export const elsewhereAudience = "https://elsewhere.example";
/** A role of another account that the Verification role may assume, and how it signs. It is in no template. */
export const lent = {
  roleArn: "arn:aws:iam::333333333333:role/may-execute",
  externalId: "sekisho-of-the-rehearsal",
  service: "execute-api",
  region: "eu-west-1",
} as const;
/** An A2A client in another account, and the policy of its role. It is in no template. */
export const a2aClient = {
  account: "444444444444",
  region: "eu-central-1",
  roleArn: "arn:aws:iam::444444444444:role/agents/asks-others",
  policy: {
    Statement: [
      {
        Effect: "Allow",
        Action: ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"],
        Resource: "arn:aws:lambda:eu-central-1:222222222222:function:*",
      },
      {
        Effect: "Allow",
        Action: ["bedrock-agentcore:InvokeAgentRuntime", "bedrock-agentcore:GetAgentCard"],
        Resource: "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/*",
      },
    ],
  },
} as const;
export const executionPlace = { account: "222222222222", region: "eu-central-1" };

/** Nobody listens there. */
const nowhere = "http://127.0.0.1:9/";

type Wish = {
  kind: ExecutionKind;
  agent?: unknown;
  /** Added to what all rehearsals have. */
  execution?: Record<string, unknown>;
  /** Added to the stage's `execution`. */
  stageExecution?: Record<string, unknown>;
  limits?: Record<string, unknown>;
  /** The host of the kind `external`. It is called with a token. */
  homeUrl?: string;
  /** Another host, called with a web identity. Default: nowhere. */
  elsewhereUrl?: string;
  /** A third host, called with the signature of the lent role. Absent: no such destination. */
  signedUrl?: string;
  /** A host whose tasks may take hours, called with the token of home. Absent: no such destination. */
  patientUrl?: string;
  /** The stage's own Execution zone is the only destination. */
  onlyHome?: boolean;
  /** All times are the product's defaults. */
  hasDefaultTimes?: boolean;
  /** The address for spans. Absent: nowhere. */
  collectorUrl?: string;
};

/** Times that a rehearsal can wait for. */
const shortTimes = {
  execution: { syncBudgetMs: 1200, leaseMs: 10_000, lostAfterMs: 500 },
  limits: { callTimeoutMs: 5000, leaseMs: 8000, visibilityTimeoutMs: 10_000 },
};

function configOf(wish: Wish) {
  const {
    kind,
    agent = "echo",
    homeUrl = nowhere,
    elsewhereUrl = nowhere,
    signedUrl,
    patientUrl,
    collectorUrl,
    execution: patience,
    limits,
  } = wish;
  const bearer = { type: "bearer", token: { env: "EXECUTION_TOKEN" } };
  const webIdentity = { type: "web-identity", audience: elsewhereAudience };
  const { roleArn: assumeRoleArn, ...signing } = lent;
  const sigv4 = { type: "sigv4", assumeRoleArn, ...signing };
  // An answered question leaves a message in the queue until it would have expired.
  const times = { deadlineMs: 600_000, questions: { expireAfterMs: 20_000 } };
  const foreign = { transport: "https", idempotent: true, ...times };
  const home =
    kind === "external"
      ? { ...foreign, url: homeUrl, authorizer: bearer }
      : { transport: "https", ...times };
  return {
    allowlist: [{ team: "TSTANDIN", channel: "CSTANDIN" }],
    destinations: wish.onlyHome
      ? { home }
      : {
          home,
          elsewhere: { ...foreign, url: elsewhereUrl, authorizer: webIdentity },
          ...(signedUrl && { signed: { ...foreign, url: signedUrl, authorizer: sigv4 } }),
          ...(patientUrl && {
            patient: {
              transport: "https",
              idempotent: true,
              deadlineMs: 8 * 3600_000,
              url: patientUrl,
              authorizer: bearer,
            },
          }),
          ...(kind === "agentcore" && { long: { ...home, deadlineMs: 3 * 3600_000 } }),
          nowhere: { ...foreign, url: nowhere, authorizer: bearer },
        },
    routes: [{ destination: "home" }],
    execution: { agent, ...(!wish.hasDefaultTimes && shortTimes.execution), ...patience },
    limits: {
      ...(!wish.hasDefaultTimes && shortTimes.limits),
      maxReceiveCount: 2,
      concurrency: 4,
      ...limits,
    },
    ...(collectorUrl && {
      telemetry: { traces: { exporter: { type: "otlp", url: collectorUrl } } },
    }),
    stages: {
      [stageName]: {
        verification: verificationPlace,
        execution:
          kind === "external" ? { kind } : { kind, ...executionPlace, ...wish.stageExecution },
      },
    },
  };
}

export type Synthesized = { assembly: Assembly; config: unknown };

/** Synthesizes all wishes in one process. Reads their assemblies; `remove` deletes the folders. */
export async function synthesizeKinds<const Wishes extends readonly Wish[]>(
  wishes: Wishes,
): Promise<{ made: { [Index in keyof Wishes]: Synthesized }; remove(): void }> {
  const configs = wishes.map(configOf);
  const directory = await synthInto({ configs: { ...configs }, stageName });
  const stages = configs.map((config, index) => ({
    config,
    assembly: readAssembly(join(directory, String(index))),
  }));
  return {
    made: stages as { [Index in keyof Wishes]: Synthesized },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export async function synthesizeKind(wish: Wish): Promise<Synthesized & { remove(): void }> {
  const { made: stages, remove } = await synthesizeKinds([wish]);
  return { ...stages[0], remove };
}

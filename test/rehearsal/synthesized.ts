/** The templates of each kind in two accounts, synthesized as `cdk synth` does, with times that a rehearsal can wait for. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ExecutionKind } from "../../lambdas/shared/config/stage-schema.ts";
import { formatRoleName } from "../../lib/cdk/names.ts";

export const stageName = "rehearsal";

export const verificationPlace = { account: "111111111111", region: "eu-central-1" };
/** What a host elsewhere is told of who may call it. */
export const verificationRoleArn = `arn:aws:iam::${verificationPlace.account}:role/${formatRoleName({ stageName, zone: "Verification" })}`;
/** Of a person; in no template. */
export const operatorRoleArn = `arn:aws:iam::${verificationPlace.account}:role/operator`;
export const executionOperatorRoleArn = "arn:aws:iam::222222222222:role/operator";
export const elsewhereAudience = "https://elsewhere.example";
/** A role of an account that is in no template, lent to the Verification role; and how it signs. */
export const lent = {
  roleArn: "arn:aws:iam::333333333333:role/may-execute",
  externalId: "sekisho-of-the-rehearsal",
  service: "execute-api",
  region: "eu-west-1",
} as const;
/** An A2A client in an account that is in no template, and what its role may do there: the caller's half of a Function URL. */
export const a2aClient = {
  account: "444444444444",
  region: "eu-central-1",
  roleArn: "arn:aws:iam::444444444444:role/agents/asks-others",
  policy: {
    Statement: {
      Effect: "Allow",
      Action: ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"],
      Resource: "arn:aws:lambda:eu-central-1:222222222222:function:*",
    },
  },
} as const;
export const executionPlace = { account: "222222222222", region: "eu-central-1" };
const synthTimeoutMs = 60_000;

type Wish = {
  kind: ExecutionKind;
  agent?: unknown;
  /** Beside or instead of what all rehearsals have. */
  execution?: Record<string, unknown>;
  limits?: Record<string, unknown>;
  /** The Execution host of another company that all goes to where the kind is `external`; a token leads to it. */
  homeUrl: string;
  /** Another one, to which a web identity leads. */
  elsewhereUrl: string;
  /** A third one, to which the signature of a lent role leads. There is no such destination where absent. */
  signedUrl?: string;
  /** One whose tasks may take hours; the token of home leads to it. There is no such destination where absent. */
  patientUrl?: string;
  /** No destination but the stage's own Execution zone. */
  onlyHome?: boolean;
  /** Where spans go; nowhere where absent. */
  collectorUrl?: string;
};

function configOf(wish: Wish) {
  const {
    kind,
    agent = "echo",
    homeUrl,
    elsewhereUrl,
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
  // What an answered question leaves in the queue is gone when it would have expired.
  const times = { deadlineMs: 600_000, questions: { expireAfterMs: 20_000 } };
  const foreign = { transport: "https", idempotent: true, ...times };
  const home =
    kind === "external" ? { ...foreign, url: homeUrl, authorizer: bearer } : { transport: "https", ...times };
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
          // Nobody listens there.
          nowhere: { ...foreign, url: "http://127.0.0.1:9/", authorizer: bearer },
        },
    routes: [{ destination: "home" }],
    execution: { agent, syncBudgetMs: 1200, leaseMs: 10_000, lostAfterMs: 500, ...patience },
    limits: {
      callTimeoutMs: 5000,
      leaseMs: 8000,
      visibilityTimeoutMs: 10_000,
      maxReceiveCount: 2,
      concurrency: 4,
      ...limits,
    },
    ...(collectorUrl && { telemetry: { traces: { exporter: { type: "otlp", url: collectorUrl } } } }),
    stages: {
      [stageName]: {
        verification: verificationPlace,
        execution: kind === "external" ? { kind } : { kind, ...executionPlace },
      },
    },
  };
}

/** A folder with what `cdk synth` makes of it, and the configuration. In a process of its own, as the command line does it. */
export async function synthesizeKind(wish: Wish): Promise<{ folder: string; config: unknown; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), `sekisho-rehearsal-${wish.kind}-`));
  const config = configOf(wish);
  const script = join(__dirname, "children/synthesize.ts");
  await promisify(execFile)(process.execPath, [script, folder, JSON.stringify(config), stageName], {
    timeout: synthTimeoutMs,
  });
  return { folder, config, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

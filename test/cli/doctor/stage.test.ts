/** `sekisho doctor --stage`: a healthy stage on AWS, and the remedy for each failure. */
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";

import { createCachedSecret } from "../../../lambdas/shared/async/cached-secret.ts";
import { createIngress } from "../../../lambdas/verification/ingress/ingress.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "../../../lambdas/verification/ingress/server.ts";
import { type DeployedWorker, deployWorker } from "../../doubles/aws/deployed-worker.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { pushedSettings, pushSettings } from "../../doubles/aws/pushed-settings.ts";
import type { WebServer } from "../../doubles/web-server.ts";
import { deploy, executionAccount, twoAccounts, verificationAccount } from "../aws/a-stage.ts";
import { startSqs } from "../aws/queues.ts";
import { type Doctored, openMachine, secrets, startPeer, startSlack, told } from "./a-machine.ts";

const { SLACK_SIGNING_SECRET, SLACK_BOT_TOKEN, PEER_TOKEN } = secrets;
const stackName = "Sekisho-prod-Verification";
const machine = openMachine();
let slack: Awaited<ReturnType<typeof startSlack>>;
let sqs: Awaited<ReturnType<typeof startSqs>>;
let entry: VerificationServer;
let peer: WebServer;
let aws: AwsServices;
let queues: { main: string; archive: string };
let worker: DeployedWorker;
/** The authorization of each call to the peer. */
const peerCalls: string[] = [];
let count = 0;
/** The configuration file. */
let file: typeof twoAccounts & { slack: object };

beforeAll(async () => {
  [slack, sqs] = await Promise.all([startSlack(), startSqs()]);
  const signing = createCachedSecret({ readSecret: async () => SLACK_SIGNING_SECRET });
  const ingress = createIngress({
    signingSecret: signing,
    queue: { send: () => Promise.reject(new Error("none")) },
  });
  entry = await startVerificationServer({ ingress, port: 0 });
  peer = await startPeer(peerCalls);
});
afterAll(async () => {
  await Promise.all([peer.close(), entry.close(), sqs.close(), slack.close()]);
  machine.close();
});

beforeEach(async () => {
  count += 1;
  queues = {
    main: await sqs.createQueue(`main-${count}`),
    archive: await sqs.createQueue(`archive-${count}`),
  };
  aws = await startAwsServices({ account: verificationAccount, sqsUrl: sqs.url });
  const far = { ...twoAccounts.destinations.far, url: `${peer.url}/` };
  file = {
    ...twoAccounts,
    slack: { apiUrl: slack.apiUrl },
    destinations: { ...twoAccounts.destinations, far },
  };
  machine.write(file);
  const address = {
    transport: "https",
    url: `${peer.url}/`,
    region: "eu-west-1",
    functionArn: "arn:aws:lambda:eu-west-1:222222222222:function:url",
  };
  const executionAddress = JSON.stringify(address);
  const readSettings = () => pushedSettings({ client: aws.table });
  worker = deployWorker({ aws, json: file, stageName: "prod", executionAddress, readSettings });
  deploy({ aws, json: file, queues, executionAddress, workerFunction: worker.arn });
  aws.stacks.set(stackName, {
    ...aws.stacks.get(stackName),
    EventsUrl: `${entry.url}/slack/events`,
  });
  for (const [name, value] of Object.entries({
    SLACK_SIGNING_SECRET,
    SLACK_BOT_TOKEN,
    FAR_TOKEN: PEER_TOKEN,
  })) {
    aws.secrets.all.set(`sekisho/prod/${name}`, { value });
  }
});
afterEach(async () => {
  for (const secret of Object.values(secrets)) expect(machine.printed()).not.toContain(secret);
  await aws.close();
});

const doctor = (): Promise<Doctored> => machine.doctor(aws.env, "--stage", "prod");
const notOk = ({ checks }: Doctored) =>
  checks.filter(({ status }) => status !== "ok").map(({ name }) => name);

describe("sekisho doctor --stage", () => {
  it("passes a healthy stage, and writes nothing", async () => {
    const found = await doctor();
    expect(notOk(found)).toEqual(["secret MODEL_KEY", "who may ask"]);
    expect(told(found, "who may ask")).toMatch(/^warning: Nobody.* --stage prod/);
    expect(told(found, "secret MODEL_KEY")).toMatch(
      new RegExp(`^skipped: .*belongs to the Execution account.*${executionAccount}`),
    );
    expect(found).toMatchObject({ code: 0, ok: true, stderr: "" });
    expect(told(found, "credentials")).toContain(`${verificationAccount}:user/operator`);
    expect(told(found, "signing secret")).toMatch(
      /^ok: The deployed entry accepts a request that is signed/,
    );
    expect(told(found, "bot token")).toMatch(/^ok: @sekisho/);
    expect(told(found, "worker")).toMatch(/^ok: .*could read its table/);
    expect(told(found, "local")).toMatch(/^ok: A peer/);
    const actions = [...new Set(aws.calls.map(({ action }) => action.split(":")[1]))];
    expect(actions.filter((action) => !/^(Get|Describe|Invoke)/.test(action ?? ""))).toEqual([]);
  });

  it("prints the stage's name above the findings", async () => {
    const ended = await machine.run(["--stage", "prod"], aws.env);
    expect(ended.stdout).toMatch(/^sekisho doctor: stage prod\n/);
    expect(ended.stdout).toContain(" ✓ store ");
  });

  it("names the account whose credentials are needed, and skips the checks that need them", async () => {
    aws.account = executionAccount;
    const found = await doctor();
    expect(told(found, "credentials")).toMatch(
      /^failed: .*these credentials are of 2{12}.* → Set AWS_PROFILE/,
    );
    for (const name of ["stack", "queue", "store", "live settings", "entry"]) {
      expect(told(found, name)).toMatch(/^skipped/);
    }
    expect(
      found.checks.filter(({ status }) => status === "failed").map(({ name }) => name),
    ).toEqual(["credentials", "secret MODEL_KEY"]);
  });

  it("explains missing credentials", async () => {
    const { AWS_ENDPOINT_URL = "" } = aws.env;
    const without = { AWS_ENDPOINT_URL, AWS_EC2_METADATA_DISABLED: "true", HOME: machine.folder };
    const found = await machine.doctor(without, "--stage", "prod");
    expect(told(found, "credentials")).toMatch(/^failed: .*no AWS credentials\. → Set AWS_PROFILE/);
    expect(told(found, "signing secret")).toMatch(/^skipped: .*no AWS credentials/);
    expect(told(found, "bot token")).toMatch(/^skipped: The deployed worker does not answer/);
    expect(found.checks.filter(({ status }) => status === "failed")).toHaveLength(1);
  });

  it("names what must be deployed", async () => {
    const other = { ...file.destinations.far, idempotent: true };
    machine.write({ ...file, destinations: { ...file.destinations, new: other } });
    const found = await doctor();
    expect(told(found, "stack")).toMatch(
      /^warning: .*: new\. → Run npx cdk deploy --all -c stage=prod/,
    );
    expect(told(found, "new")).toBe("skipped: It is not deployed.");
    aws.stacks.clear();
    expect(told(await doctor(), "stack")).toMatch(
      /^failed: There is no stack .* → Run npx cdk deploy/,
    );
  });

  it("explains live settings that cannot be read", async () => {
    await pushSettings({ client: aws.table, settings: "no json" });
    const found = await doctor();
    expect(told(found, "live settings")).toMatch(/^failed: .* → .*config push/);
    expect(told(found, "stack")).toBe("ok: It is deployed.");
    expect(told(found, "queue")).toMatch(/^ok/);
  });

  it("explains live settings that were pushed for another peer or credential", async () => {
    const value = JSON.stringify({
      destinations: { far: { fingerprint: "another", url: "https://other.example/" } },
    });
    await pushSettings({ client: aws.table, settings: value });
    const found = await doctor();
    expect(told(found, "live settings")).toMatch(
      /^warning: .* far .*deployed address.* → .*config push --stage prod/,
    );
    expect(told(found, "far")).toMatch(/^ok: A peer/);
  });

  it("counts waiting messages, and explains dead letters", async () => {
    await sqs.send({ queueUrl: queues.main, body: "one" });
    await sqs.send({ queueUrl: queues.archive, body: "two" });
    expect(told(await doctor(), "dead letters")).toMatch(
      /^warning: 1 message failed too often and is kept\./,
    );
    await sqs.send({ queueUrl: queues.archive, body: "three" });
    const found = await doctor();
    expect(told(found, "queue")).toMatch(/^ok: Messages: 1 waiting, /);
    expect(told(found, "dead letters")).toMatch(
      /^warning: 2 messages failed too often.* → npx --no-install sekisho dead-letters list --stage prod/,
    );
    expect(found.code).toBe(0);
  });

  it("explains missing permissions, and runs the other checks", async () => {
    for (const action of [
      "sqs:GetQueueAttributes",
      "dynamodb:GetItem",
      "secretsmanager:DescribeSecret",
    ]) {
      aws.refusals.set(action, { status: 400, name: "AccessDeniedException" });
    }
    const found = await doctor();
    for (const name of ["queue", "dead letters", "store", "secret FAR_TOKEN"]) {
      expect(told(found, name)).toMatch(/^failed: Could not .* → Set AWS_PROFILE to a role/);
    }
    expect(told(found, "stack")).toMatch(/^ok/);
  });

  it("explains each missing secret", async () => {
    aws.secrets.all.delete("sekisho/prod/FAR_TOKEN");
    aws.secrets.all.set("sekisho/prod/SLACK_BOT_TOKEN", {});
    aws.secrets.all.set("sekisho/prod/SLACK_SIGNING_SECRET", { value: "x", deleted: true });
    const found = await doctor();
    expect(told(found, "secret FAR_TOKEN")).toMatch(
      /^failed: .* is missing\. → npx --no-install sekisho secrets put --stage prod/,
    );
    expect(told(found, "secret SLACK_BOT_TOKEN")).toMatch(
      /^failed: .*holds no value\. → npx --no-install sekisho secrets put/,
    );
    expect(told(found, "secret SLACK_SIGNING_SECRET")).toMatch(
      /^failed: .* deletion\. → aws secretsmanager restore-secret/,
    );
  });

  it("reports secrets that may not be read, and still checks that the entry refuses unsigned requests", async () => {
    aws.refusals.set("secretsmanager:GetSecretValue", {
      status: 400,
      name: "AccessDeniedException",
    });
    const found = await doctor();
    expect(told(found, "entry")).toMatch(/^ok/);
    expect(told(found, "signing secret")).toMatch(
      /^skipped: .*cannot be read with these credentials/,
    );
    // The worker reads the bot token with its own role.
    expect(told(found, "bot token")).toMatch(/^ok/);
  });

  it("explains an entry with another signing secret", async () => {
    aws.secrets.all.set("sekisho/prod/SLACK_SIGNING_SECRET", { value: "0".repeat(32) });
    expect(told(await doctor(), "signing secret")).toMatch(
      /^failed: .* → npx --no-install sekisho secrets put --only SLACK_SIGNING_SECRET --overwrite --stage prod/,
    );
  });

  it("calls the destinations only by the worker, because the operator's credentials may not", async () => {
    const { AWS_ACCESS_KEY_ID = "" } = aws.env;
    const found = await doctor();
    expect(told(found, "local")).toMatch(/^ok: A peer/);
    expect(told(found, "worker")).toMatch(/^ok: It answers/);
    expect(peerCalls.length).toBeGreaterThan(0);
    for (const authorization of peerCalls) expect(authorization).not.toContain(AWS_ACCESS_KEY_ID);
  });

  it("explains what the worker's role cannot reach", async () => {
    worker.canReach.store = false;
    expect(told(await doctor(), "worker")).toMatch(
      /^failed: .*table \(AccessDeniedException\)\. → npx cdk deploy/,
    );
    worker.canReach.store = true;
    worker.canReach.queue = false;
    expect(told(await doctor(), "worker")).toMatch(/^failed: .*queue/);
    worker.canReach.queue = true;
    worker.canReach.liveSettings = false;
    expect(told(await doctor(), "worker")).toMatch(/^failed: .*cannot read the live settings/);
    worker.canReach.liveSettings = true;
    aws.secrets.all.delete("sekisho/prod/SLACK_BOT_TOKEN");
    expect(told(await doctor(), "bot token")).toMatch(
      /^failed: The deployed worker cannot read sekisho\/prod\/SLACK_BOT_TOKEN \(ResourceNotFoundException\)/,
    );
  });

  it.each([
    [
      { status: 403, name: "AccessDeniedException" },
      /lack lambda:InvokeFunction on arn:aws:lambda:.*worker/,
    ],
    [{ status: 429, name: "TooManyRequestsException" }, /concurrency.* → Try again in a minute/],
    [
      { status: 404, name: "ResourceNotFoundException" },
      /there is no function .* → Run npx cdk deploy/,
    ],
  ])("explains why the worker cannot be asked: %j", async (refusal, words) => {
    aws.refusals.set("lambda:Invoke", refusal);
    const found = await doctor();
    expect(told(found, "worker")).toMatch(/^failed: Could not ask the deployed worker/);
    expect(told(found, "worker")).toMatch(words);
    for (const name of ["local", "far", "bot token"]) expect(told(found, name)).toMatch(/^skipped/);
  });

  it("asks the worker one thing at a time, and fails each destination that it could not check", async () => {
    const answer = aws.functions.get(worker.arn);
    let underWay = 0;
    let most = 0;
    aws.functions.set(worker.arn, async (event) => {
      underWay += 1;
      most = Math.max(most, underWay);
      try {
        await setTimeout(200);
        if (JSON.stringify(event).includes("check_destinations")) {
          throw Object.assign(new Error("Task timed out"), { name: "Sandbox.Timedout" });
        }
        return await answer?.(event);
      } finally {
        underWay -= 1;
      }
    });
    const found = await doctor();
    expect(most).toBe(1);
    expect(told(found, "worker")).toMatch(/^ok/);
    for (const name of ["local", "far"])
      expect(told(found, name)).toMatch(/^failed: .*within its time limit/);
    expect(found).toMatchObject({ code: 1, ok: false });
  });

  it("asks for a deploy where the worker is of another version, or is not published", async () => {
    aws.functions.set(worker.arn, async () => {
      throw Object.assign(new Error("a text with a secret"), { name: "ZodError" });
    });
    const failing = await doctor();
    expect(told(failing, "worker")).toMatch(/^failed: .*another version\. → Run npx cdk deploy/);
    expect(failing.stdout).not.toContain("a text with a secret");
    aws.functions.set(worker.arn, async () => ({ batchItemFailures: [] }));
    expect(told(await doctor(), "worker")).toMatch(/^failed: .*another version/);
    aws.functions.set(worker.arn, async () => {
      throw Object.assign(new Error("Task timed out"), { name: "Sandbox.Timedout" });
    });
    expect(told(await doctor(), "worker")).toMatch(/^failed: .*within its time limit/);
    const { WorkerFunction: _, ...older } = { WorkerFunction: "", ...aws.stacks.get(stackName) };
    aws.stacks.set(stackName, older);
    expect(told(await doctor(), "worker")).toMatch(
      /^failed: .*no output WorkerFunction\. → Run npx cdk deploy/,
    );
  });
});

/** `sekisho doctor --stage`: a healthy stage on AWS, and the remedy for each problem. */
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { createIngress } from "@sekisho/verification/ingress/ingress.ts";
import {
  startVerificationServer,
  type VerificationServer,
} from "@sekisho/verification/ingress/server.ts";
import { type DeployedWorker, deployWorker } from "../../doubles/aws/deployed-worker.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { pushedSettings, pushSettings } from "../../doubles/aws/pushed-settings.ts";
import type { WebServer } from "../../doubles/web-server.ts";
import { deploy, executionAccount, twoAccounts, verificationAccount } from "../aws/a-stage.ts";
import { startSqs } from "../aws/queues.ts";
import {
  type Doctored,
  openMachine,
  secrets,
  shownText,
  startPeer,
  startSlack,
} from "./a-machine.ts";

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
  const signingSecret = createCachedSecret({ readSecret: async () => SLACK_SIGNING_SECRET });
  const queue = { send: () => Promise.reject(new Error("none")) };
  entry = await startVerificationServer({
    ingress: createIngress({ signingSecret, queue }),
    port: 0,
  });
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
  const executionAddress = JSON.stringify({
    transport: "https",
    url: `${peer.url}/`,
    region: "eu-west-1",
    functionArn: "arn:aws:lambda:eu-west-1:222222222222:function:url",
  });
  const readSettings = () => pushedSettings({ client: aws.table });
  worker = deployWorker({ aws, json: file, stageName: "prod", executionAddress, readSettings });
  deploy({ aws, json: file, queues, executionAddress, workerFunction: worker.arn });
  setOutputs({ EventsUrl: `${entry.url}/slack/events` });
  for (const [name, value] of Object.entries({
    SLACK_SIGNING_SECRET,
    SLACK_BOT_TOKEN,
    FAR_TOKEN: PEER_TOKEN,
  }))
    aws.secrets.all.set(secretId(name), { value });
});
afterEach(async () => {
  for (const secret of Object.values(secrets)) expect(machine.printed()).not.toContain(secret);
  await aws.close();
});

const secretId = (name: string) => `sekisho/prod/${name}`;
const setOutputs = (outputs: Record<string, string>) =>
  aws.stacks.set(stackName, { ...aws.stacks.get(stackName), ...outputs });
const refuse = (action: string, status = 400, name = "AccessDeniedException") =>
  aws.refusals.set(action, { status, name });
const failWorker = (name: string) =>
  aws.functions.set(worker.arn, async () => {
    throw Object.assign(new Error("a text with a secret"), { name });
  });
const doctor = (...args: string[]): Promise<Doctored> =>
  machine.doctor(aws.env, "--stage", "prod", ...args);
const failedNames = ({ checks }: Doctored) =>
  checks.filter(({ status }) => status === "failed").map(({ name }) => name);

describe("sekisho doctor --stage", () => {
  it("passes a healthy stage, writes nothing, and calls destinations only through the worker", async () => {
    const report = await doctor();
    expect(report).toMatchObject({ code: 0, ok: true, stderr: "" });
    const others = report.checks.filter(({ status }) => status !== "ok");
    expect(others.map(({ name }) => name)).toEqual(["who may ask"]);
    for (const [name, pattern] of Object.entries({
      "who may ask": /^warning: Nobody.* --stage prod/,
      secrets: new RegExp(`^ok: .*FAR_TOKEN.* of ${verificationAccount}: .*MODEL_KEY of the Exec`),
      credentials: new RegExp(`${verificationAccount}:user/operator`),
      "signing secret": /^ok: The deployed entry accepts a request that is signed/,
      "bot token": /^ok: @sekisho/,
      worker: /^ok: It answers; it could read its table/,
      local: /^ok: A peer/,
    }))
      expect(shownText(report, name)).toMatch(pattern);
    const actions = [...new Set(aws.calls.map(({ action }) => action.split(":")[1]))];
    expect(actions.filter((action) => !/^(Get|Describe|Invoke)/.test(action ?? ""))).toEqual([]);
    expect(peerCalls.length).toBeGreaterThan(0);
    // The operator's credentials may not call a destination.
    const { AWS_ACCESS_KEY_ID = "" } = aws.env;
    for (const authorization of peerCalls) expect(authorization).not.toContain(AWS_ACCESS_KEY_ID);
    const { stdout } = await machine.run(["--stage", "prod"], aws.env);
    expect(stdout).toMatch(/^sekisho doctor: stage prod\n/);
  });

  it("checks one destination with --destination", async () => {
    const changed = { ...file.destinations.far, idempotent: true, authorizer: { type: "none" } };
    machine.write({ ...file, destinations: { ...file.destinations, far: changed } });
    const { checks } = await doctor("--destination", "far");
    expect(checks).toMatchObject([
      { name: "far", status: "ok", what: expect.stringMatching(/^A peer.*other settings for it/) },
    ]);
    const added = { ...file.destinations.far };
    machine.write({ ...file, destinations: { ...file.destinations, added } });
    expect(await doctor("--destination", "added")).toMatchObject({ code: 1, ok: false });
    const unknown = await machine.run(["--stage", "prod", "--destination", "none"], aws.env);
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Known: local, far"),
    });
  });

  it("names the account whose credentials are needed, and skips the checks that need them", async () => {
    aws.account = executionAccount;
    const report = await doctor();
    expect(shownText(report, "credentials")).toMatch(
      /^failed: .*these credentials are of 2{12}.* → Set AWS_PROFILE/,
    );
    for (const name of ["stack", "queue", "live settings", "entry", "destinations"])
      expect(shownText(report, name)).toMatch(/^skipped/);
    expect(failedNames(report)).toEqual(["credentials", "secrets"]);
  });

  it("explains missing credentials", async () => {
    const { AWS_ENDPOINT_URL = "" } = aws.env;
    const without = { AWS_ENDPOINT_URL, AWS_EC2_METADATA_DISABLED: "true", HOME: machine.folder };
    const report = await machine.doctor(without, "--stage", "prod");
    expect(shownText(report, "credentials")).toMatch(
      /^failed: .*no AWS credentials\. → Set AWS_PROF/,
    );
    expect(shownText(report, "signing secret")).toMatch(/^skipped: .*no AWS credentials/);
    expect(shownText(report, "bot token")).toMatch(/^skipped: The deployed worker does not answer/);
    expect(failedNames(report)).toEqual(["credentials"]);
  });

  it("names what must be deployed", async () => {
    const destinations = { ...file.destinations, new: file.destinations.far };
    machine.write({ ...file, destinations });
    const report = await doctor();
    expect(shownText(report, "stack")).toMatch(
      /^warning: .*: new\. → Run npx cdk deploy --all -c stage=prod/,
    );
    expect(shownText(report, "new")).toBe("skipped: It is not deployed.");
    aws.stacks.clear();
    expect(shownText(await doctor(), "stack")).toMatch(
      /^failed: There is no stack .* → Run npx cdk/,
    );
  });

  it("explains live settings that are unreadable or for another peer", async () => {
    await pushSettings({ client: aws.table, settings: "no json" });
    const report = await doctor();
    expect(shownText(report, "live settings")).toMatch(/^failed: .* → .*config push/);
    expect(shownText(report, "stack")).toBe("ok: It is deployed.");
    expect(shownText(report, "queue")).toMatch(/^ok/);
    const far = { fingerprint: "another", url: "https://other.example/" };
    await pushSettings({ client: aws.table, settings: JSON.stringify({ destinations: { far } }) });
    const other = await doctor();
    expect(shownText(other, "live settings")).toMatch(/^warning: .* far .* → .*push --stage prod/);
    expect(shownText(other, "far")).toMatch(/^ok: A peer/);
  });

  it("calls a destination at the address that was pushed", async () => {
    const { far = "" } = JSON.parse(aws.stacks.get(stackName)?.DeployedDestinations ?? "{}");
    const pushed = { fingerprint: far, url: `${peer.url}/pushed` };
    const settings = JSON.stringify({ destinations: { far: pushed } });
    await pushSettings({ client: aws.table, settings });
    expect(shownText(await doctor(), "far")).toContain(pushed.url);
  });

  it("counts waiting messages, and explains dead letters", async () => {
    await sqs.send({ queueUrl: queues.main, body: "one" });
    await sqs.send({ queueUrl: queues.archive, body: "two" });
    const report = await doctor();
    expect(shownText(report, "queue")).toMatch(/^ok: Messages: 1 waiting, /);
    expect(shownText(report, "dead letters")).toMatch(
      /^warning: 1 message is kept.* → npx --no-install sekisho dead-letters list --stage prod/,
    );
    expect(report.code).toBe(0);
  });

  const cases: Record<string, { change: () => unknown; found: Record<string, RegExp> }> = {
    "missing permissions": {
      change: () => {
        for (const action of ["sqs:GetQueueAttributes", "secretsmanager:DescribeSecret"])
          refuse(action);
      },
      found: {
        queue: /^failed: Could not .* → Set AWS_PROFILE to a role/,
        "dead letters": /^failed: Could not .* → Set AWS_PROFILE to a role/,
        secrets: /^failed: Could not .* → Set AWS_PROFILE to a role/,
        stack: /^ok/,
      },
    },
    "each missing secret": {
      change: () => {
        aws.secrets.all.delete(secretId("FAR_TOKEN"));
        aws.secrets.all.set(secretId("SLACK_BOT_TOKEN"), {});
        aws.secrets.all.set(secretId("SLACK_SIGNING_SECRET"), { value: "x", deleted: true });
      },
      found: {
        secrets:
          /^failed: .*SIGNING_SECRET .* deletion.*BOT_TOKEN .* no value.*FAR_TOKEN .*missing.* → .*put --stage prod/,
        far: /^failed: Its secret sekisho\/prod\/FAR_TOKEN cannot be read/,
      },
    },
    "secrets that only the worker is allowed to read": {
      change: () => refuse("secretsmanager:GetSecretValue"),
      found: {
        entry: /^ok/,
        "signing secret": /^skipped: .*cannot be read with these credentials/,
        "bot token": /^ok/,
      },
    },
    "an entry with another signing secret": {
      change: () =>
        aws.secrets.all.set(secretId("SLACK_SIGNING_SECRET"), { value: "0".repeat(32) }),
      found: {
        "signing secret":
          /^failed: .* → .*put --only SLACK_SIGNING_SECRET --overwrite --stage prod/,
      },
    },
    "a table that the worker's role cannot reach": {
      change: () => {
        worker.canReach.store = false;
      },
      found: { worker: /^failed: .*table \(AccessDeniedException\)\. → npx cdk deploy/ },
    },
    "a queue that the worker cannot reach": {
      change: () => {
        worker.canReach.queue = false;
      },
      found: { worker: /^failed: .*queue/ },
    },
    "live settings that the operator cannot read": {
      change: () => {
        worker.canReach.liveSettings = false;
      },
      found: { worker: /^failed: .*cannot read the live settings/ },
    },
    "a bot token that the worker cannot read": {
      change: () => aws.secrets.all.delete(secretId("SLACK_BOT_TOKEN")),
      found: {
        "bot token":
          /^failed: The deployed worker cannot read sekisho\/prod\/SLACK_BOT_TOKEN \(Resource/,
      },
    },
    "an alias without the permission to invoke it": {
      change: () => refuse("lambda:Invoke", 403),
      found: {
        worker: /^failed: .*lack lambda:InvokeFunction on arn:aws:lambda:.*worker/,
        local: /^skipped/,
        "bot token": /^skipped/,
      },
    },
    "a worker without concurrency": {
      change: () => refuse("lambda:Invoke", 429, "TooManyRequestsException"),
      found: { worker: /^failed: .*concurrency.* → Try again in a minute/ },
    },
    "a missing worker": {
      change: () => refuse("lambda:Invoke", 404, "ResourceNotFoundException"),
      found: { worker: /^failed: .*there is no function .* → Run npx cdk deploy/ },
    },
    "a worker of another version": {
      change: () => failWorker("ZodError"),
      found: { worker: /^failed: .*another version\. → Run npx cdk deploy/ },
    },
    "a worker that answers as another version": {
      change: () => aws.functions.set(worker.arn, async () => ({ batchItemFailures: [] })),
      found: { worker: /^failed: .*another version/ },
    },
    "a worker that times out": {
      change: () => failWorker("Sandbox.Timedout"),
      found: { worker: /^failed: .*within its time limit/ },
    },
    "a stack without a published worker": {
      change: () => setOutputs({ WorkerFunction: "" }),
      found: { worker: /^failed: .*no output WorkerFunction\. → Run npx cdk deploy/ },
    },
  };

  it.each(Object.entries(cases))("explains %s", async (_title, { change, found: results }) => {
    change();
    const doctorReport = await doctor();
    for (const [name, pattern] of Object.entries(results))
      expect(shownText(doctorReport, name)).toMatch(pattern);
    expect(doctorReport.stdout).not.toContain("a text with a secret");
  });

  it("sends the worker one request at a time, and fails each destination that was not checked", async () => {
    const answer = aws.functions.get(worker.arn);
    let underWay = 0;
    let maxUnderWay = 0;
    aws.functions.set(worker.arn, async (event) => {
      underWay += 1;
      maxUnderWay = Math.max(maxUnderWay, underWay);
      try {
        await setTimeout(200);
        if (JSON.stringify(event).includes("check_destinations"))
          throw Object.assign(new Error("Task timed out"), { name: "Sandbox.Timedout" });
        return await answer?.(event);
      } finally {
        underWay -= 1;
      }
    });
    const report = await doctor();
    expect(maxUnderWay).toBe(1);
    expect(shownText(report, "worker")).toMatch(/^ok/);
    for (const name of ["local", "far"])
      expect(shownText(report, name)).toMatch(/^failed: .*within its time limit/);
    expect(report).toMatchObject({ code: 1, ok: false });
  });
});

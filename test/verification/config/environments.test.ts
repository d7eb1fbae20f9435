/** What the functions of the Verification zone read from their environment. */
import { describe, expect, it } from "@jest/globals";
import { readIngressEnvironment } from "@sekisho/verification/config/ingress-environment.ts";
import { readOauthEnvironment } from "@sekisho/verification/config/oauth-environment.ts";
import {
  readDeadLetterEnvironment,
  readWorkerEnvironment,
} from "@sekisho/verification/config/worker-environment.ts";

const aws = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "AKID",
  AWS_SECRET_ACCESS_KEY: "an-aws-secret",
};
const ingress = {
  ...aws,
  SEKISHO_QUEUE_URL: "https://sqs.example/q",
  SEKISHO_SIGNING_SECRET: "sekisho/dev/S",
};
const common = {
  ...aws,
  SEKISHO_QUEUE_URL: "https://sqs.example/q",
  SEKISHO_TABLE: "tasks",
  SEKISHO_ROUTES_PARAMETER: "routes",
};
const worker = {
  ...common,
  SEKISHO_QUEUE_ARN: "arn:aws:sqs:eu-central-1:111111111111:q",
  SEKISHO_SLACK_API_URL: "https://slack.com/api/",
  SEKISHO_FILES_BUCKET: "files",
};
const deadLetters = { ...common, SEKISHO_DEAD_LETTERS_URL: "https://sqs.example/archive" };
const oauth = {
  ...aws,
  SEKISHO_CLIENT_ID: "12.34",
  SEKISHO_CLIENT_SECRET: "sekisho/dev/SLACK_CLIENT_SECRET",
  SEKISHO_INSTALLATIONS_PREFIX: "sekisho/dev/installations/",
  SEKISHO_TABLE: "tasks",
  SEKISHO_SLACK_API_URL: "https://slack.com/api/",
};

const readers = [
  ["ingress", readIngressEnvironment, ingress],
  ["worker", readWorkerEnvironment, worker],
  ["handler of dead letters", readDeadLetterEnvironment, deadLetters],
  ["installation flow", readOauthEnvironment, oauth],
] as const;

describe.each(readers)("the environment of the %s", (_name, readBody, variables) => {
  it.each(Object.keys(variables))(
    "rejects an environment without %s and names the variable",
    (name) => {
      expect(() => readBody({ ...variables, [name]: "" })).toThrow(name);
    },
  );

  it("reads the log level and debug ratio and refuses invalid ones", () => {
    expect(readBody(variables)).toMatchObject({ logs: { level: "info", debugRatio: 0 } });
    const logVariables = { SEKISHO_LOG_LEVEL: "debug", SEKISHO_LOG_DEBUG_RATIO: "0.25" };
    expect(readBody({ ...variables, ...logVariables })).toMatchObject({
      logs: { level: "debug", debugRatio: 0.25 },
    });
    expect(() => readBody({ ...variables, SEKISHO_LOG_LEVEL: "loud" })).toThrow(
      "SEKISHO_LOG_LEVEL",
    );
    for (const share of ["2", "some"]) {
      expect(() => readBody({ ...variables, SEKISHO_LOG_DEBUG_RATIO: share })).toThrow(
        "SEKISHO_LOG_DEBUG_RATIO",
      );
    }
  });

  it("never puts a secret into an error", () => {
    const message = (() => {
      try {
        return String(readBody({ ...variables, AWS_REGION: "" }));
      } catch (error) {
        return String(error);
      }
    })();
    expect(message).toContain("AWS_REGION");
    expect(message).not.toContain(aws.AWS_SECRET_ACCESS_KEY);
  });
});

describe("the share of traces that are kept", () => {
  it("keeps all traces by default and refuses a ratio that is invalid", () => {
    const ratioOf = (text: string) =>
      readIngressEnvironment({ ...ingress, SEKISHO_TRACE_RATIO: text }).sampleRatio;
    expect([ratioOf(""), ratioOf("0"), ratioOf("0.25")]).toEqual([1, 0, 0.25]);
    for (const share of ["2", "some"]) expect(() => ratioOf(share)).toThrow("SEKISHO_TRACE_RATIO");
  });
});

it("reads forwarded messages unless the deploy switches them off", () => {
  const forwardsOf = (SEKISHO_FORWARDS: string) =>
    readIngressEnvironment({ ...ingress, SEKISHO_FORWARDS }).forwards;
  expect([forwardsOf(""), forwardsOf("false")]).toEqual([true, false]);
});

describe("the installations", () => {
  it("sets a place for installations only if there is an installation flow", () => {
    expect(readWorkerEnvironment(worker).installationsPrefix).toBeUndefined();
    const variables = { ...worker, SEKISHO_INSTALLATIONS_PREFIX: "sekisho/dev/installations/" };
    expect(readWorkerEnvironment(variables).installationsPrefix).toBe("sekisho/dev/installations/");
  });
});

describe("the address of the Execution zone", () => {
  it("reads the address of the Execution zone and leaves it out if none is deployed", () => {
    const address = {
      transport: "https",
      url: "https://x.lambda-url.example/",
      region: "eu-west-1",
      functionArn: "arn:f",
    };
    expect(readWorkerEnvironment(worker).executionAddress).toBeUndefined();
    const variables = { ...worker, SEKISHO_EXECUTION_ADDRESS: JSON.stringify(address) };
    expect(readWorkerEnvironment(variables).executionAddress).toEqual(address);
  });

  it("uses the default idle time if version 1.0 has deployed the stage", () => {
    const address = {
      transport: "agentcore",
      runtimeArn: "arn:r",
      qualifier: "live",
      stopAfterResult: false,
    };
    const variables = { ...worker, SEKISHO_EXECUTION_ADDRESS: JSON.stringify(address) };
    expect(readWorkerEnvironment(variables).executionAddress).toEqual({
      ...address,
      idleSeconds: 120,
    });
  });

  it.each(["{", "[]", '{"transport":"pigeon"}'])("refuses the malformed address %s", (text) => {
    expect(() => readWorkerEnvironment({ ...worker, SEKISHO_EXECUTION_ADDRESS: text })).toThrow(
      "SEKISHO_EXECUTION_ADDRESS",
    );
  });
});

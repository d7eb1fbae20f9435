import { describe, expect, it } from "@jest/globals";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import type { FindTeam } from "@sekisho/verification/installations/installations.ts";
import {
  createManagedInstallations,
  createStageTokens,
} from "@sekisho/verification/installations/managed-installations.ts";
import { serve } from "../../doubles/serving.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import { sampleInstallation } from "./stored.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret" };
const region = "eu-central-1";
const prefix = "sekisho/dev/installations/";

/** Secrets Manager as far as it is used here; `secrets` by name. Of those in `deleted` the deletion was asked for. */
async function secretsManager(secrets: Record<string, string> = {}, refuse?: string) {
  const calls: string[] = [];
  const deletedNames = new Set<string>();
  const { url } = await serve((call) => {
    const problem = sigv4Problem({
      received: call,
      credentials,
      service: "secretsmanager",
      region,
    });
    if (problem !== undefined) return failure(problem);
    const operation = String(call.request.headers.get("x-amz-target")).split(".")[1] ?? "";
    const { SecretId, Name, SecretString, ClientRequestToken } = JSON.parse(
      Buffer.from(call.body).toString(),
    );
    const name = SecretId ?? Name;
    calls.push(`${operation} ${name}`);
    if (refuse !== undefined) return failure(refuse);
    if (operation === "RestoreSecret") deletedNames.delete(name);
    if (operation === "RestoreSecret") return Response.json({ Name: name });
    if (deletedNames.has(name)) return failure("InvalidRequestException");
    if (operation === "GetSecretValue")
      return name in secrets
        ? Response.json({ SecretString: secrets[name] })
        : failure("ResourceNotFoundException");
    if (!/^[a-zA-Z0-9-]{32,64}$/.test(ClientRequestToken))
      return failure("InvalidParameterException");
    if (operation === "CreateSecret" && name in secrets) return failure("ResourceExistsException");
    secrets[name] = SecretString;
    return Response.json({ Name: name });
  });
  const endpoint = new URL(url);
  const aws = { region, credentials: async () => credentials, endpointOf: () => endpoint };
  return {
    calls,
    secrets,
    deleted: deletedNames,
    aws,
    installations: createManagedInstallations({ prefix, aws }),
  };
}

function failure(name: string): Response {
  return Response.json({ __type: name, Message: "xoxb-secret" }, { status: 400 });
}

describe("installations in Secrets Manager", () => {
  it("stores each installation as a secret below the prefix of the stage", async () => {
    const { installations, secrets, calls } = await secretsManager();
    await installations.put({ id: "T1", installation: sampleInstallation() });
    expect(JSON.parse(secrets[`${prefix}T1`] ?? "")).toEqual(sampleInstallation());
    expect(await installations.get({ id: "T1" })).toEqual(sampleInstallation());
    expect(calls).toEqual([`CreateSecret ${prefix}T1`, `GetSecretValue ${prefix}T1`]);
  });

  it("overwrites an existing installation", async () => {
    const { installations, calls } = await secretsManager();
    await installations.put({
      id: "E1",
      installation: sampleInstallation({ botToken: "xoxb-old" }),
    });
    await installations.put({
      id: "E1",
      installation: sampleInstallation({ botToken: "xoxb-new" }),
    });
    expect((await installations.get({ id: "E1" }))?.botToken).toBe("xoxb-new");
    expect(calls).toContain(`PutSecretValue ${prefix}E1`);
  });

  it("treats a secret that is being deleted as missing and restores it at the next installation", async () => {
    const { installations, calls, deleted } = await secretsManager({
      [`${prefix}T1`]: JSON.stringify(sampleInstallation()),
    });
    deleted.add(`${prefix}T1`);
    expect(await installations.get({ id: "T1" })).toBeUndefined();
    await installations.put({
      id: "T1",
      installation: sampleInstallation({ botToken: "xoxb-new" }),
    });
    expect((await installations.get({ id: "T1" }))?.botToken).toBe("xoxb-new");
    const operations = calls.map((call) => call.split(" ")[0]);
    expect(operations).toEqual([
      "GetSecretValue",
      "CreateSecret",
      "RestoreSecret",
      "PutSecretValue",
      "GetSecretValue",
    ]);
  });

  it("returns nothing for a missing secret and rejects if Secrets Manager refuses", async () => {
    expect(await (await secretsManager()).installations.get({ id: "T1" })).toBeUndefined();
    const { installations } = await secretsManager({}, "AccessDeniedException");
    await expect(installations.get({ id: "T1" })).rejects.toThrow(/AccessDenied/);
    await expect(
      installations.put({ id: "T1", installation: sampleInstallation() }),
    ).rejects.toThrow(/AccessDenied/);
  });

  it("shows nothing of a malformed value in its error", async () => {
    const { installations } = await secretsManager({
      [`${prefix}T1`]: '{"botToken":"xoxb-secret"}',
    });
    const error = await installations.get({ id: "T1" }).catch((error: Error) => error);
    expect(`${String(error)} ${(error as Error).stack}`).not.toContain("xoxb");
    expect(String(error)).toContain("T1");
  });

  it.each(["../dev/SLACK_BOT_TOKEN", "T1/../../x", "t1", ""])(
    "refuses the id %j without a call",
    async (id) => {
      const { installations, calls } = await secretsManager();
      await expect(installations.get({ id })).rejects.toThrow(
        "not a Slack workspace or organization id",
      );
      expect(calls).toEqual([]);
    },
  );
});

describe("the tokens of a stage", () => {
  const slack = { botToken: { secretsManager: "sekisho/dev/SLACK_BOT_TOKEN" } };
  /** Nothing of Slack is reached. */
  const teamOf: FindTeam = () => Promise.reject(new Error("Nobody answers."));
  const tokensOf = (aws: Parameters<typeof createReadManagedSecret>[0], changes: object = {}) =>
    createStageTokens({
      ...{ slack, aws, readManagedSecret: createReadManagedSecret(aws), teamOf },
      installationsPrefix: prefix,
      ...changes,
    });

  it("reads the secret of the bot token if the app is installed by hand", async () => {
    const { aws, calls } = await secretsManager({ "sekisho/dev/SLACK_BOT_TOKEN": "xoxb-hand" });
    const tokens = tokensOf(aws, { installationsPrefix: undefined });
    expect(await tokens.tokenOf({ team: "T1" })).toBe("xoxb-hand");
    expect(calls).toEqual(["GetSecretValue sekisho/dev/SLACK_BOT_TOKEN"]);
  });

  it("does without a bot token if several workspaces install the app", async () => {
    const { aws } = await secretsManager({ [`${prefix}T1`]: JSON.stringify(sampleInstallation()) });
    const tokens = tokensOf(aws);
    expect(await tokens.tokenOf({ team: "T1" })).toBe("xoxb-installed");
    await expect(tokens.tokenOf({ team: "T2" })).rejects.toMatchObject({ kind: "gone" });
  });

  it("rejects while the bot token may not be read, as after a change of a role", async () => {
    const { aws } = await secretsManager();
    const tokens = tokensOf(aws, {
      readManagedSecret: async () => {
        throw new AwsCallError({ name: "AccessDeniedException", status: 400 });
      },
    });
    await expect(tokens.tokenOf({ team: "T2" })).rejects.toThrow("AccessDenied");
  });

  it("does without a bot token that is being deleted", async () => {
    const { aws, deleted } = await secretsManager();
    deleted.add("sekisho/dev/SLACK_BOT_TOKEN");
    const tokens = tokensOf(aws);
    await expect(tokens.tokenOf({ team: "T2" })).rejects.toMatchObject({ kind: "gone" });
  });
});

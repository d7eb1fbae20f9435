/** `sekisho conformance --auth web-identity:…` where AWS issues no token: the reason and the remedy. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { freePort } from "../../e2e/processes.ts";
import { verificationAccount } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-credentials-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let aws: AwsServices;
beforeEach(async () => {
  aws = await startAwsServices({ account: verificationAccount });
});
afterEach(() => aws.close());

/** Nobody listens at the address, because nothing is sent without a credential. */
async function conformance(env: Record<string, string>) {
  const url = `http://127.0.0.1:${await freePort()}/`;
  return commandHere(["conformance", url, "--auth", "web-identity:agents"], env);
}

describe("sekisho conformance without a token of AWS", () => {
  it("exits with 3 and says that the region is missing", async () => {
    const { AWS_REGION: _region, AWS_DEFAULT_REGION: _default, ...env } = aws.env;
    expect(await conformance(env)).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringMatching(/No credentials for it could be had\. Nobody says in which region.*AWS_REGION/),
    });
  });

  it("exits with 3 and says that there are no AWS credentials", async () => {
    const without = { AWS_EC2_METADATA_DISABLED: "true", HOME: folder, AWS_REGION: "eu-central-1" };
    const ended = await conformance({ ...without, AWS_ENDPOINT_URL: aws.env.AWS_ENDPOINT_URL ?? "" });
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining("Set AWS_PROFILE") });
  });

  it("exits with 3 and says how the account is made to issue tokens", async () => {
    aws.refusals.set("sts:GetWebIdentityToken", {
      status: 403,
      name: "OutboundWebIdentityFederationDisabledException",
    });
    const ended = await conformance({ ...aws.env, AWS_REGION: "eu-central-1" });
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining("npx sekisho federation enable") });
  });
});

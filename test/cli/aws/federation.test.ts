/** `sekisho federation enable` and `show`, against an IAM over a real socket. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { executionAccount, twoAccounts, verificationAccount, writeConfig } from "./a-stage.ts";
import { commandHere, failing, refusing } from "./command-here.ts";

const folder = folderOfFile();

const pool = "projects/123456789/locations/global/workloadIdentityPools/sekisho-pool";
const at = (authorizer: unknown) => ({
  transport: "https",
  url: "https://elsewhere.example/",
  authorizer,
});
const federated = {
  ...twoAccounts,
  destinations: {
    ...twoAccounts.destinations,
    own: at({ type: "web-identity", audience: "sekisho agents" }),
    run: at({
      type: "google",
      workloadIdentityProvider: `${pool}/providers/aws-prod`,
      serviceAccount: "agents@p.iam.gserviceaccount.com",
    }),
    entra: at({
      type: "azure",
      tenantId: "0f5f3f6e-3f0f-4a67-8f9b-2f2f0c1d2e3f",
      clientId: "1a5f3f6e-3f0f-4a67-8f9b-2f2f0c1d2e3f",
      scope: "api://agents/.default",
    }),
  },
  stages: {
    ...twoAccounts.stages,
    other: { verification: { account: "333333333333", region: "us-gov-west-1" } },
  },
};
const role = `arn:aws:iam::${verificationAccount}:role/sekisho-prod-verification`;

let aws: AwsServices;
beforeEach(async () => {
  aws = await startAwsServices({ account: verificationAccount });
});
afterEach(() => aws.close());

function federation(args: string[], json: unknown = federated) {
  const config = writeConfig({ folder, name: "federated.json", json });
  return commandHere(["federation", ...args, "--config", config], aws.env);
}

const iamCalls = () =>
  aws.calls.filter(({ action }) => action.startsWith("iam:")).map(({ action }) => action.slice(4));

describe("sekisho federation enable", () => {
  it("enables the federation once, shows the account first, and changes nothing the second time", async () => {
    const first = await federation(["enable"]);
    expect(first).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Account 111111111111, .*stage prod\.\nThe account now/),
    });
    expect(first.stdout).toContain(aws.federation.issuer);
    expect(iamCalls()).toEqual(["EnableOutboundWebIdentityFederation"]);
    const again = await federation(["enable"]);
    expect(again).toMatchObject(failing(0, "Nothing changed"));
    expect(again.stdout).toBe(first.stdout);
  });

  it("calls IAM only with the credentials of the right account, and explains a refusal of AWS", async () => {
    aws.account = executionAccount;
    expect(await federation(["enable"])).toMatchObject(failing(1, "AWS_PROFILE"));
    expect(iamCalls()).toEqual([]);
    aws.account = verificationAccount;
    aws.refusals.set("iam:EnableOutboundWebIdentityFederation", {
      status: 403,
      name: "AccessDenied",
    });
    expect(await federation(["enable"])).toMatchObject(failing(1, "lack the permission"));
    expect(await federation(["enable", "--stage", "nowhere"])).toMatchObject({ code: 2 });
  });
});

describe("sekisho federation show", () => {
  it.each(["never", "off"] as const)(
    "explains how to enable a federation in the state %s, and enables nothing itself",
    async (state) => {
      aws.federation.state = state;
      const result = await federation(["show"]);
      expect(result).toMatchObject(
        refusing(1, "npx --no-install sekisho federation enable --stage prod"),
      );
      expect(aws.federation.state).toBe(state);
    },
  );

  it("prints the issuer with its addresses, and the role of each stage", async () => {
    aws.federation.state = "on";
    const { code, stdout } = await federation(["show"]);
    expect(code).toBe(0);
    for (const text of [
      aws.federation.issuer,
      `${aws.federation.issuer}/.well-known/openid-configuration`,
      `${aws.federation.issuer}/.well-known/jwks.json`,
      `role of stage prod  ${role}\n`,
      "role of stage other  arn:aws-us-gov:iam::333333333333:role/sekisho-other-verification (of another account",
    ]) {
      expect(stdout).toContain(text);
    }
  });

  it("prints the same for an A2A agent as for any other endpoint", async () => {
    aws.federation.state = "on";
    const { authorizer } = federated.destinations.own;
    const agent = { transport: "a2a", card: "https://elsewhere.example/card.json", authorizer };
    const destinations = { ...federated.destinations, own: agent };
    const { stdout } = await federation(["show"], { ...federated, destinations });
    expect(stdout).toContain("own (web-identity, audience sekisho agents)");
    expect(stdout).toBe((await federation(["show"])).stdout);
  });

  it("prints an authenticator that our own host accepts unchanged", async () => {
    aws.federation.state = "on";
    const { stdout } = await federation(["show", "--json"]);
    const { destinations } = JSON.parse(stdout);
    expect(destinations.map(({ destination }: { destination: string }) => destination)).toEqual([
      "own",
      "run",
      "entra",
    ]);
    const { authenticator } = destinations[0].json;
    expect(authenticator).toEqual({
      type: "web-identity",
      issuer: aws.federation.issuer,
      audience: "sekisho agents",
      roles: [role],
    });
    expect(
      parseConfig({ json: { routes: [], execution: { authenticator } } }).execution.authenticator,
    ).toEqual(authenticator);
    const pasted =
      (await federation(["show"])).stdout.split('"authenticator": ')[1]?.split("\nAny other")[0] ??
      "";
    expect(JSON.parse(pasted)).toEqual(authenticator);
  });

  it("prints the commands by which Google trusts the role, and Entra's federated credential", async () => {
    aws.federation.state = "on";
    const { destinations } = JSON.parse((await federation(["show", "--json"])).stdout);
    const google = destinations[1].lines.join("\n").replaceAll(" \\\n ", "");
    for (const command of [
      "gcloud iam workload-identity-pools create sekisho-pool --location=global --project=PROJECT_ID",
      `gcloud iam workload-identity-pools providers create-oidc aws-prod --workload-identity-pool=sekisho-pool --location=global --project=PROJECT_ID --issuer-uri=${aws.federation.issuer} --allowed-audiences=https://iam.googleapis.com/${pool}/providers/aws-prod --attribute-mapping=google.subject=assertion.sub --attribute-condition='assertion.sub == "${role}"'`,
      "gcloud iam service-accounts create agents --project=p\ngcloud iam service-accounts add-iam-policy-binding",
      `gcloud iam service-accounts add-iam-policy-binding agents@p.iam.gserviceaccount.com --role=roles/iam.workloadIdentityUser --member=principal://iam.googleapis.com/${pool}/subject/${role}`,
      "--role=roles/run.invoker --member=serviceAccount:agents@p.iam.gserviceaccount.com",
    ]) {
      expect(google).toContain(command);
    }
    expect(destinations[2].json).toEqual({
      name: "sekisho-prod",
      issuer: aws.federation.issuer,
      subject: role,
      audiences: ["api://AzureADTokenExchange"],
    });
    expect(destinations[2].lines.join("\n")).toContain(
      "az ad app federated-credential create --id 1a5f3f6e-",
    );
  });

  it("grants the role of an API of Google where the destination sends access tokens", async () => {
    aws.federation.state = "on";
    const scope = "https://www.googleapis.com/auth/cloud-platform";
    const run = at({ ...(federated.destinations.run.authorizer as object), scope });
    const { stdout } = await federation(["show"], {
      ...federated,
      destinations: { run },
      routes: [],
    });
    expect(stdout).toContain(
      "gcloud projects add-iam-policy-binding PROJECT_ID --role=ROLE --member=serviceAccount:agents@p.iam.gserviceaccount.com",
    );
    expect(stdout).toContain("--role=roles/iam.workloadIdentityUser");
    expect(stdout).not.toContain("gcloud run");
  });

  it("creates no service account that Google creates itself", async () => {
    aws.federation.state = "on";
    const serviceAccount = "123456789-compute@developer.gserviceaccount.com";
    const run = at({ ...(federated.destinations.run.authorizer as object), serviceAccount });
    const { stdout } = await federation(["show"], {
      ...federated,
      destinations: { run },
      routes: [],
    });
    expect(stdout).toContain(`add-iam-policy-binding ${serviceAccount}`);
    expect(stdout).not.toContain("service-accounts create");
  });

  it("quotes arguments with special characters for the shell", async () => {
    aws.federation.state = "on";
    const tokenAudience = "it's $HOME";
    const run = at({ ...(federated.destinations.run.authorizer as object), tokenAudience });
    const { stdout } = await federation(["show"], {
      ...federated,
      destinations: { ...federated.destinations, run },
    });
    expect(stdout).toContain(`--allowed-audiences='it'\\''s $HOME'`);
  });

  it("prints no commands if no destination needs a federation", async () => {
    aws.federation.state = "on";
    const result = await federation(["show"], twoAccounts);
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining("No destination") });
  });
});

/** Describes the setup with which the cloud of a destination trusts the Verification role of a stage. */

import { toWebIdentityRequest } from "@sekisho/config/authorizer-needs.ts";
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import { resolveAuthorizerConfig } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { quoteForShell } from "../shell.ts";

/** `lines` are for a person to paste. `json` is the same for a script, where it is JSON. */
export type Trust = {
  destination: string;
  authorizer: string;
  audience: string;
  lines: string[];
  json?: unknown;
};

type TrustSource = Pick<Config, "destinations"> & {
  issuer: string;
  roleArn: string;
  stageName: string;
};

/** Lists all destinations whose calls begin with a token of AWS STS. */
export function listTrusts({ destinations, issuer, roleArn, stageName }: TrustSource): Trust[] {
  return Object.entries(destinations).flatMap(([destination, authorizerConfig]) => {
    const authorizer = resolveAuthorizerConfig(authorizerConfig);
    if (authorizer === undefined) return [];
    const audience = toWebIdentityRequest(authorizer)?.audience;
    if (audience === undefined) return [];
    const issuance = { issuer, audience, roleArn, stageName };
    return [
      {
        destination,
        authorizer: authorizer.type,
        audience,
        ...describeTrust(authorizer, issuance),
      },
    ];
  });
}

type Issued = { issuer: string; audience: string; roleArn: string; stageName: string };
type Description = Pick<Trust, "lines" | "json">;

function describeTrust(authorizer: AuthorizerConfig, issuance: Issued): Description {
  switch (authorizer.type) {
    case "google":
      return { lines: googleCommands({ ...authorizer, ...issuance }) };
    case "azure":
      return azureCredential({ clientId: authorizer.clientId, ...issuance });
    default:
      return ownHost(issuance);
  }
}

/** The `execution` section of a Sekisho host in the other cloud. Another kind of host must check the same claims of the JWT. */
function ownHost({ issuer, audience, roleArn }: Issued): Description {
  const json = { authenticator: { type: "web-identity", issuer, audience, roles: [roleArn] } };
  return {
    json,
    lines: [
      'If Sekisho runs there, put this into "execution" of its configuration:',
      `"authenticator": ${JSON.stringify(json.authenticator, undefined, 2)}`,
      `Any other host must check the JWT in the header Authorization: iss, aud and sub must be exactly these, and exp in the future.`,
    ],
  };
}

type GoogleTrust = Issued & {
  workloadIdentityProvider: string;
  serviceAccount: string;
  scope?: string | undefined;
};

/** https://cloud.google.com/iam/docs/workload-identity-federation-with-other-providers */
function googleCommands({
  issuer,
  audience,
  roleArn,
  workloadIdentityProvider,
  serviceAccount,
  scope,
}: GoogleTrust) {
  const [pool = "", provider = ""] = workloadIdentityProvider.split("/providers/");
  const poolId = pool.split("/").at(-1);
  const where = `--location=global --project=PROJECT_ID`;
  return [
    `Once, with gcloud; PROJECT_ID is the project with the number ${pool.split("/")[1]}${scope === undefined ? ", SERVICE and REGION are those of Cloud Run" : ", and ROLE the one that the agent's API asks for, such as roles/aiplatform.user for Agent Engine"}:`,
    "gcloud services enable iam.googleapis.com sts.googleapis.com iamcredentials.googleapis.com --project=PROJECT_ID",
    `gcloud iam workload-identity-pools create ${poolId} ${where}`,
    `gcloud iam workload-identity-pools providers create-oidc ${provider} --workload-identity-pool=${poolId} ${where} \\`,
    `  --issuer-uri=${quoteForShell(issuer)} --allowed-audiences=${quoteForShell(audience)} \\`,
    `  --attribute-mapping=google.subject=assertion.sub --attribute-condition=${quoteForShell(`assertion.sub == "${roleArn}"`)}`,
    ...createCommand(serviceAccount),
    `gcloud iam service-accounts add-iam-policy-binding ${serviceAccount} --role=roles/iam.workloadIdentityUser \\`,
    `  --member=${quoteForShell(`principal://iam.googleapis.com/${pool}/subject/${roleArn}`)}`,
    ...(scope === undefined
      ? [
          `gcloud run services add-iam-policy-binding SERVICE --region=REGION --project=PROJECT_ID \\`,
          `  --role=roles/run.invoker --member=serviceAccount:${serviceAccount}`,
          `A Sekisho host on Cloud Run trusts the callers that Cloud Run has authenticated: "authenticator": { "type": "platform" }`,
        ]
      : [
          `gcloud projects add-iam-policy-binding PROJECT_ID --role=ROLE --member=serviceAccount:${serviceAccount}`,
        ]),
  ];
}

/** Returns no command for an account that Google creates, such as the one of Compute Engine. */
function createCommand(serviceAccount: string): string[] {
  const [, id, project] =
    /^([a-z][a-z0-9-]+)@([a-z][a-z0-9-]*)\.iam\.gserviceaccount\.com$/.exec(serviceAccount) ?? [];
  return id === undefined ? [] : [`gcloud iam service-accounts create ${id} --project=${project}`];
}

type AzureTrust = Issued & { clientId: string };

/** https://learn.microsoft.com/entra/workload-id/workload-identity-federation-create-trust */
function azureCredential({
  issuer,
  audience,
  roleArn,
  stageName,
  clientId,
}: AzureTrust): Description {
  const json = { name: `sekisho-${stageName}`, issuer, subject: roleArn, audiences: [audience] };
  return {
    json,
    lines: [
      "Once, to add a federated credential to the app registration, write the JSON below to credential.json and run:",
      `az ad app federated-credential create --id ${clientId} --parameters credential.json`,
      JSON.stringify(json, undefined, 2),
    ],
  };
}

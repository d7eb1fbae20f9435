/** The keys that sign who asked: one key of KMS for each key of the configuration's section `asker`. */
import { needsAskerToken } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import {
  AccountRootPrincipal,
  type IRole,
  PolicyDocument,
  PolicyStatement,
} from "aws-cdk-lib/aws-iam";
import { Key, KeySpec, KeyUsage } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import { formatAskerKeyAlias, formatVerificationRoleArn } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";
import { permit } from "./permissions.ts";

/** By algorithm: the kind of key, and the name of the algorithm at KMS. */
const keyKinds = {
  RS256: { keySpec: KeySpec.RSA_2048, kmsAlgorithm: "RSASSA_PKCS1_V1_5_SHA_256" },
  ES256: { keySpec: KeySpec.ECC_NIST_P256, kmsAlgorithm: "ECDSA_SHA_256" },
} as const;

/** Everything that administrators of the account do with a key. They cannot sign, and can permit nobody to, without a change of this policy. */
const administration = [
  ...["kms:Describe*", "kms:Get*", "kms:List*", "kms:Enable*", "kms:Disable*", "kms:Put*"],
  ...["kms:Update*", "kms:CreateAlias", "kms:DeleteAlias", "kms:TagResource", "kms:UntagResource"],
  ...["kms:ScheduleKeyDeletion", "kms:CancelKeyDeletion", "kms:Verify"],
];

/** True if calls of a destination need a token of the person who asked. */
export function needsAskerKeys({ asker, destinations }: Config): boolean {
  return asker !== undefined && Object.values(destinations).some(needsAskerToken);
}

/**
 * Makes the keys, lets the worker sign with them, and returns its environment variable. Empty in a stage that needs none.
 *
 * A key that the configuration no longer has is deleted with the waiting time of KMS, in which it can be restored. It is not retained:
 * verifiers have its public half, nothing is encrypted with it, and a retained key would cost a dollar a month after every rotation.
 */
export function createAskerKeys(
  scope: Construct,
  { settings, role }: { settings: StageSettings; role: IRole },
): Record<string, string> {
  const { stageName, stage, config } = settings;
  const { asker } = config;
  if (asker === undefined || !needsAskerKeys(config)) return {};
  const roleArn = formatVerificationRoleArn({ stageName, ...stage.verification });
  const { keySpec, kmsAlgorithm } = keyKinds[asker.algorithm];
  const conditions = { StringEquals: { "kms:SigningAlgorithm": kmsAlgorithm } };
  const parent = new Construct(scope, "AskerKeys");
  const keys = asker.keys.map(({ id }) => {
    const key = new Key(parent, id, {
      description: `Signs who asked, in the stage ${stageName}.`,
      alias: formatAskerKeyAlias({ stageName, id }),
      keySpec,
      keyUsage: KeyUsage.SIGN_VERIFY,
      policy: keyPolicy({ roleArn, conditions }),
      pendingWindow: Duration.days(stage.production ? 30 : 7),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    return [id, key.keyArn] as const;
  });
  const resources = keys.map(([, arn]) => arn);
  permit(role, new PolicyStatement({ actions: ["kms:Sign"], resources, conditions }));
  const value = { clientId: roleArn, keys: Object.fromEntries(keys) };
  return { SEKISHO_ASKER: Stack.of(scope).toJsonString(value) };
}

function keyPolicy(options: {
  roleArn: string;
  conditions: Record<string, Record<string, string>>;
}): PolicyDocument {
  const { roleArn, conditions } = options;
  // A role as principal is stored by its id, so a role that is created again under this name could not sign.
  const principals = [new AccountRootPrincipal()];
  return new PolicyDocument({
    statements: [
      new PolicyStatement({ actions: administration, principals, resources: ["*"] }),
      new PolicyStatement({
        actions: ["kms:Sign"],
        principals,
        resources: ["*"],
        conditions: { ...conditions, ArnEquals: { "aws:PrincipalArn": roleArn } },
      }),
    ],
  });
}

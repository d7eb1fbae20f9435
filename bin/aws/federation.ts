/** The switch of an AWS account that lets STS issue tokens for others: IAM has it, CloudFormation does not. */
import {
  EnableOutboundWebIdentityFederationCommand,
  GetOutboundWebIdentityFederationInfoCommand,
  IAMClient,
} from "@aws-sdk/client-iam";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";

type Place = { region: string; signal: AbortSignal };

/** Resolves to the account's issuer; undefined where it issues no tokens. */
export async function issuerOf({ region, signal }: Place): Promise<string | undefined> {
  const iam = new IAMClient({ region });
  const { IssuerIdentifier, JwtVendingEnabled } = await callAws({
    doing: "ask whether the account issues tokens for others",
    signal,
    call: (options) => iam.send(new GetOutboundWebIdentityFederationInfoCommand({}), options),
  }).catch((thrown) => {
    if (errorNameOf(thrown).startsWith("FeatureDisabled"))
      return { IssuerIdentifier: undefined, JwtVendingEnabled: false };
    throw thrown;
  });
  return JwtVendingEnabled === false ? undefined : IssuerIdentifier;
}

/** Switching on what is on already is fine; `changed` says whether it was off. */
export async function enableFederation({ region, signal }: Place): Promise<{ issuer: string; changed: boolean }> {
  const iam = new IAMClient({ region });
  const enabled = await callAws({
    doing: "let the account issue tokens for others",
    signal,
    call: (options) => iam.send(new EnableOutboundWebIdentityFederationCommand({}), options),
  }).catch((thrown) => {
    if (errorNameOf(thrown).startsWith("FeatureEnabled")) return undefined;
    throw thrown;
  });
  const issuer = enabled?.IssuerIdentifier ?? (await issuerOf({ region, signal }));
  if (issuer === undefined)
    throw new AwsFailure("AWS says that it is switched on, but names no issuer. Try again in a minute.");
  return { issuer, changed: enabled !== undefined };
}

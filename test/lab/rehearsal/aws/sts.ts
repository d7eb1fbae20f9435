/** STS: web identity tokens for a role, and credentials of another role. The gateway has already checked who may have them. */
import { type Caller, createCaller } from "./callers.ts";
import { awsFailure, element, queryAnswer } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import { readTags } from "./read-call.ts";
import type { TokenIssuer } from "./token-issuer.ts";

type Asked = { input: Record<string, unknown>; caller: Caller };

/** The default lifetime of credentials. */
const assumedMs = 3600_000;

/** `onAssumed` gets each caller with new credentials. */
export function stsBackend({
  issuer,
  onAssumed,
}: {
  issuer: Pick<TokenIssuer, "issue">;
  onAssumed: (caller: Caller) => void;
}): Backend {
  async function token({ input, caller }: Asked): Promise<Response> {
    const { Audience, SigningAlgorithm, DurationSeconds = "300" } = input;
    const durationSeconds = Number(DurationSeconds);
    const tags = readTags(input);
    if (
      tags === undefined ||
      !Array.isArray(Audience) ||
      SigningAlgorithm === undefined ||
      durationSeconds < 60 ||
      durationSeconds > 3600
    )
      return awsFailure({ service: "sts", name: "ValidationError", status: 400 });
    if (SigningAlgorithm !== "RS256")
      throw new Error(`The rehearsal issues no tokens signed by ${String(SigningAlgorithm)}.`);
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_outbound_token_claims.html
    const aboutCaller = {
      aws_account: caller.account,
      source_region: caller.region,
      principal_tags: {},
      ...(Object.keys(tags).length > 0 && { request_tags: tags }),
    };
    const jwt = await issuer.issue({
      audiences: Audience,
      subject: caller.roleArn,
      durationSeconds,
      claims: { "https://sts.amazonaws.com/": aboutCaller },
    });
    const expiration = new Date(Date.now() + durationSeconds * 1000).toISOString();
    return queryAnswer(
      "GetWebIdentityToken",
      element("WebIdentityToken", jwt) + element("Expiration", expiration),
    );
  }

  function assume({ input, caller }: Asked): Response {
    const roleArn = String(input.RoleArn);
    const session = String(input.RoleSessionName);
    if (!/^[\w+=,.@-]{2,64}$/.test(session))
      return awsFailure({ service: "sts", name: "ValidationError", status: 400 });
    const account = roleArn.split(":")[4] ?? "";
    const assumed = createCaller({
      ...caller,
      name: `${caller.name} as ${roleArn}`,
      roleArn,
      account,
    });
    onAssumed(assumed);
    const { accessKeyId, secretAccessKey, sessionToken } = assumed.credentials;
    const role = roleArn.split("/").at(-1) ?? "";
    const user =
      element("Arn", `arn:aws:sts::${account}:assumed-role/${role}/${session}`) +
      element("AssumedRoleId", `AROA${role}:${session}`);
    const credentials =
      element("AccessKeyId", accessKeyId) +
      element("SecretAccessKey", secretAccessKey) +
      element("SessionToken", sessionToken) +
      element("Expiration", new Date(Date.now() + assumedMs).toISOString());
    return queryAnswer(
      "AssumeRole",
      `<AssumedRoleUser>${user}</AssumedRoleUser><Credentials>${credentials}</Credentials>`,
    );
  }

  return async ({ call: { action, input }, caller }) => {
    if (action === "sts:AssumeRole") return assume({ input, caller });
    if (action !== "sts:GetCallerIdentity") return token({ input, caller });
    const { account, roleArn } = caller;
    const arn = `arn:aws:sts::${account}:assumed-role/${roleArn.split("/").at(-1)}/session`;
    return queryAnswer("GetCallerIdentity", element("Arn", arn) + element("Account", account));
  };
}

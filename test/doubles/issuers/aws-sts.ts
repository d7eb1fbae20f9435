/** AWS STS. It checks signatures, issues real tokens, and lets a caller with the external id assume a role. */
import { awsFailure, element, queryAnswer } from "../../lab/rehearsal/aws/failure.ts";
import { readQueryCall, readTags } from "../../lab/rehearsal/aws/read-call.ts";
import { startTokenIssuer, type TokenIssuer } from "../../lab/rehearsal/aws/token-issuer.ts";
import { type KnownCredentials, sigv4Problem } from "../sigv4-check.ts";
import type { Received } from "../web-server.ts";
import { type Issuer, startIssuer } from "./issuer.ts";

export const roleArn = "arn:aws:iam::123456789012:role/verification";
export const assumableRoleArn = "arn:aws:iam::210987654321:role/execution-caller";
export const externalId = "external-id-of-nobody";

export type AwsSts = Issuer & {
  tokens: Pick<TokenIssuer, "issued" | "url">;
  /** The credentials of assumed roles, latest last. */
  lent: Required<KnownCredentials>[];
  /** The parsed requests. */
  inputs: Record<string, unknown>[];
};

export async function startAwsSts({
  credentials,
  region,
}: {
  credentials: KnownCredentials;
  region: string;
}): Promise<AwsSts> {
  const tokens = await startTokenIssuer();
  const lent: AwsSts["lent"] = [];
  const inputs: AwsSts["inputs"] = [];

  async function answer(httpCall: Received): Promise<Response> {
    const problem = sigv4Problem({ received: httpCall, credentials, service: "sts", region });
    if (problem !== undefined) return refuse("SignatureDoesNotMatch", problem);
    const call = readQueryCall({ received: httpCall, place: { account: "123456789012", region } });
    if (call === undefined) return refuse("ValidationError", "", 400);
    inputs.push(call.input);
    return call.action === "sts:AssumeRole" ? lend(call.input) : issue(call.input);
  }

  async function issue(input: Record<string, unknown>): Promise<Response> {
    const durationSeconds = Number(input.DurationSeconds);
    const audiences = input.Audience as string[];
    const tags = readTags(input);
    if (tags === undefined) return refuse("ValidationError", "", 400);
    const claims = {
      "https://sts.amazonaws.com/": {
        aws_account: "123456789012",
        ...(Object.keys(tags).length > 0 && { request_tags: tags }),
      },
    };
    const token = await tokens.issue({ audiences, subject: roleArn, durationSeconds, claims });
    return queryAnswer("GetWebIdentityToken", element("WebIdentityToken", token));
  }

  function lend(input: Record<string, unknown>): Response {
    if (input.RoleArn !== assumableRoleArn || input.ExternalId !== externalId)
      return refuse("AccessDenied", "no");
    const count = lent.length + 1;
    const role = {
      accessKeyId: `ASIALENT${count}`,
      secretAccessKey: `lent-${count}`,
      sessionToken: `session-${count}`,
    };
    lent.push(role);
    const fields =
      element("AccessKeyId", role.accessKeyId) +
      element("SecretAccessKey", role.secretAccessKey) +
      element("SessionToken", role.sessionToken) +
      element("Expiration", new Date(Date.now() + 3600_000).toISOString());
    return queryAnswer("AssumeRole", `<Credentials>${fields}</Credentials>`);
  }

  const issuer = await startIssuer({ answer: (_asked, call) => answer(call) });
  const { close } = issuer;
  return Object.assign(issuer, {
    tokens,
    lent,
    inputs,
    close: async () => void (await Promise.all([tokens.close(), close()])),
  });
}

/** An error in STS's form. */
export function refuse(
  name: string,
  message = "words that nobody should repeat",
  status = 403,
): Response {
  return awsFailure({ service: "sts", name, message, status });
}

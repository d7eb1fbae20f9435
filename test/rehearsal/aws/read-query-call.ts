/**
 * Calls that come as a form: of AWS STS (https://docs.aws.amazon.com/STS/latest/APIReference/API_Operations.html), and
 * CloudFormation's DescribeStacks and ListStackResources.
 */
import type { Received } from "../../doubles/web-server.ts";
import type { AwsCall } from "./read-call.ts";

/** Undefined for what is no such form. Throws for an action that no rehearsal knows. */
export function readQueryCall({
  received: { request, body },
  account,
  region = "",
}: {
  received: Received;
  account: string;
  region?: string;
}): AwsCall | undefined {
  if (!/^application\/x-www-form-urlencoded\b/.test(request.headers.get("content-type") ?? "")) return undefined;
  const { Action, Version, ...fields } = Object.fromEntries(new URLSearchParams(Buffer.from(body).toString("utf8")));
  if (Version === "2010-05-15" && (Action === "DescribeStacks" || Action === "ListStackResources")) {
    const resources = [`arn:aws:cloudformation:${region}:${account}:stack/${String(fields.StackName)}/made-up`];
    return { service: "cloudformation", action: `cloudformation:${Action}`, resources, input: fields };
  }
  if (Version !== "2011-06-15") return undefined;
  const lists = listsIn(fields);
  switch (Action) {
    case "GetWebIdentityToken":
      return {
        service: "sts",
        action: "sts:GetWebIdentityToken",
        resources: [`arn:aws:sts::${account}:self`],
        input: lists,
        context: contextOf({
          "sts:identitytokenaudience": lists.Audience,
          "sts:signingalgorithm": lists.SigningAlgorithm,
          "sts:durationseconds": lists.DurationSeconds ?? "300",
        }),
      };
    case "AssumeRole":
      return {
        service: "sts",
        action: "sts:AssumeRole",
        resources: [String(lists.RoleArn)],
        input: lists,
        context: contextOf({ "sts:externalid": lists.ExternalId }),
      };
    // Everybody may: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    case "GetCallerIdentity":
      return { service: "sts", action: "sts:GetCallerIdentity", resources: [], input: lists };
    default:
      throw new Error(`The rehearsal does not know ${String(Action)} of STS.`);
  }
}

type Fields = Record<string, string | string[]>;

/** `Audience.member.1` and so on are one list. */
function listsIn(fields: Record<string, string>): Fields {
  const lists: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    const [, list] = /^(\w+)\.member\.\d+$/.exec(name) ?? [];
    if (list === undefined) lists[name] = value;
    else lists[list] = [...(lists[list] ?? []), value];
  }
  return lists;
}

function contextOf(keys: Record<string, string | string[] | undefined>): Fields {
  return Object.fromEntries(
    Object.entries(keys).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  );
}
